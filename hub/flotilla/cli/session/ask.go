package session

import (
	"bufio"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Asks says that a person can be asked: what is typed comes from a terminal, and what is printed goes to one.
func (a *Session) Asks() bool {
	file, ok := a.In.(*os.File)
	return a.Terminal && ok && term.IsTerminal(int(file.Fd()))
}

// Consents asks a question, and says whether it was answered with yes.
func (a *Session) Consents(question string) bool {
	Say(a.Err, "%s [y/N] ", question)
	return answeredYes(a.In)
}

func answeredYes(in io.Reader) bool {
	line, _ := bufio.NewReader(in).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

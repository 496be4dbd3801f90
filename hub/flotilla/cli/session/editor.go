package session

import (
	"context"
	"os"
	"os/exec"
	"strings"
)

// openEditor runs the user's editor on this process's terminal.
func openEditor(ctx context.Context, path string) error {
	editor := "vi"
	for _, name := range []string{"EDITOR", "VISUAL", "FLOTILLA_EDITOR"} {
		if set := os.Getenv(name); set != "" {
			editor = set
		}
	}
	words := strings.Fields(editor)
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

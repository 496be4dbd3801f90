package exec

import (
	"slices"
	"strings"
)

// Tail is a writer that keeps the last of what is written to it. It is not for several goroutines.
type Tail struct {
	// Most is how many bytes it keeps.
	Most int
	kept []byte
	cut  bool
}

func (t *Tail) Write(text []byte) (int, error) {
	t.kept = append(t.kept, text...)
	if over := len(t.kept) - t.Most; over > 0 {
		t.kept, t.cut = slices.Delete(t.kept, 0, over), true
	}
	return len(text), nil
}

// Words are the last three lines on one.
func (t *Tail) Words() string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "")), "\n")
	lines = lines[max(len(lines)-3, 0):]
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, " | ")
}

// Package leash ends a program together with whoever started it, however that one ended.
package leash

import (
	"io"
	"os"
)

// Variable is set by who starts a program with the reading end of a pipe as its standard input. The pipe closes
// when the starter is gone, and the program then ends at once.
const Variable = "FLOTILLA_LEASHED"

// Hold begins to watch the pipe. Without the variable it does nothing.
func Hold() {
	if os.Getenv(Variable) == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}

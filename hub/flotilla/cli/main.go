package cli

import (
	"context"
	"time"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// patience is how long a command that was interrupted may take to say what it leaves.
const patience = 3 * time.Second

// Main runs one command line and returns its exit code. A command that does not end within a while of the end of ctx is
// left behind: it waits for something that no context ends, such as a pipe that nobody writes to.
func Main(ctx context.Context, args []string, env session.Environment) int {
	ended := make(chan int, 1)
	go func() {
		s := session.New(env)
		ended <- s.Execute(ctx, newRoot(resource.New(s)), args)
	}()
	select {
	case code := <-ended:
		return code
	case <-ctx.Done():
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case code := <-ended:
		return code
	case <-late.C:
		session.Say(env.Err, "error: interrupted: the command still waited for a file, or for a program that it started\n")
		return session.ExitTimedOut
	}
}

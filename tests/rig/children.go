package rig

import (
	"errors"
	"os/exec"
	"sync"
)

// children are the processes that run.
type children struct {
	mu   sync.Mutex
	all  map[*exec.Cmd]bool
	over bool
}

var started = children{all: map[*exec.Cmd]bool{}}

func (c *children) start(command *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return errors.New("the tests were interrupted")
	}
	err := command.Start()
	if err == nil {
		c.all[command] = true
	}
	return err
}

func (c *children) ended(command *exec.Cmd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, command)
}

// KillAll kills every process that runs, and lets none start: for who is interrupted, and whose tests will not end.
func KillAll() {
	started.mu.Lock()
	defer started.mu.Unlock()
	started.over = true
	for command := range started.all {
		_ = command.Process.Kill()
	}
}

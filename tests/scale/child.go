package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// child is a process with a role. Its methods are for one goroutine at a time, but for ask.
type child struct {
	name    string
	control string
	command *exec.Cmd
	stdin   io.Closer
	log     *os.File
}

// launch starts this program once more with a role, and returns when it said hello; its log is name.log in the
// folder. What the role says is decoded into said.
func launch(folder, name string, r role, said any) (*child, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{name: name, command: exec.Command(path)}
	if c.log, err = os.OpenFile(filepath.Join(folder, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	c.command.Stderr = c.log
	c.command.Env = append(os.Environ(), roleVariable+"="+string(text), "NATS_URL=", "NATS_CREDS=", "NATS_CONTEXT=", "KUBERNETES_SERVICE_HOST=")
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	if err := c.greeted(out, said); err != nil {
		c.kill()
		return nil, fmt.Errorf("starting %s: %w; its log is %s", name, err, c.log.Name())
	}
	return c, nil
}

func (c *child) greeted(out io.Reader, said any) error {
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("it ended before it had started: %w", err)
	}
	var h hello
	if err := json.Unmarshal(line, &h); err != nil {
		return fmt.Errorf("it said %q: %w", line, err)
	}
	c.control = h.Control
	return json.Unmarshal(h.Part, said)
}

// ask asks the process for what path serves; question and reply are JSON.
func (c *child) ask(ctx context.Context, path string, question, reply any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.control+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking %s for %s: %w", c.name, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("asking %s for %s: %w", c.name, path, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking %s for %s: %s", c.name, path, strings.TrimSpace(string(text)))
	}
	if raw, is := reply.(*[]byte); is {
		*raw = text
		return nil
	}
	return json.Unmarshal(text, reply)
}

func (c *child) figures(ctx context.Context) (f Figures, err error) {
	return f, c.ask(ctx, "/figures", struct{}{}, &f)
}

// kill is SIGKILL.
func (c *child) kill() {
	_ = c.command.Process.Kill()
	_ = c.command.Wait()
	_ = c.log.Close()
}

// endWithin is how long a process may take to end.
const endWithin = 30 * time.Second

// end has the process end by itself, and kills it where it takes longer.
func (c *child) end() error {
	_ = c.stdin.Close()
	timer := time.AfterFunc(endWithin, func() { _ = c.command.Process.Kill() })
	defer timer.Stop()
	err := c.command.Wait()
	return errors.Join(err, c.log.Close())
}

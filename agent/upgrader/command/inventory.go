package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"flotilla/core/api"
)

// maxInventory bounds what the command of the inventory prints.
const maxInventory = 1 << 20

// Inventory runs the command that prints it; without one the driver knows nothing of the member.
func (d *Driver) Inventory(ctx context.Context) (api.MemberInventory, error) {
	var i api.MemberInventory
	if len(d.o.Inventory) == 0 {
		return i, nil
	}
	c := exec.CommandContext(ctx, d.o.Inventory[0], d.o.Inventory[1:]...)
	var printed, complained limited
	c.Dir, c.Stdout, c.Stderr = d.o.Directory, &printed, &complained
	c.Env = append(append(os.Environ(), pairs(d.o.Environment)...), "FLOTILLA_MEMBER="+d.o.Member)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	if err := c.Run(); err != nil {
		return i, fmt.Errorf("reading the inventory by %s: %w: %s", d.o.Inventory[0], err, lastLine(complained.kept.String()))
	}
	if printed.cut {
		return i, fmt.Errorf("reading the inventory by %s: it printed more than %d bytes", d.o.Inventory[0], maxInventory)
	}
	if err := json.Unmarshal(printed.kept.Bytes(), &i); err != nil {
		return i, fmt.Errorf(`reading the inventory by %s: it printed no MemberInventory, such as {"controlPlaneVersion": "1.36.3", "nodePools": [{"name": "np1", "kubernetesVersion": "1.36.3"}]}: %w`,
			d.o.Inventory[0], err)
	}
	return i, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// limited keeps what is written to it up to maxInventory.
type limited struct {
	kept bytes.Buffer
	cut  bool
}

func (l *limited) Write(text []byte) (int, error) {
	if room := maxInventory - l.kept.Len(); len(text) > room {
		l.cut = true
		_, err := l.kept.Write(text[:room])
		return len(text), err
	}
	return l.kept.Write(text)
}

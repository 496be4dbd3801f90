package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Forms says how faults are written, for the help of flags and for errors.
const Forms = "down, off, slow=DURATION, fail=KIND[/NAMESPACE/NAME], stuck=KIND[/NAMESPACE/NAME], not-ready=NODE, lost=NODE, drifted=NODE[:REASON], busy=OPERATION, " +
	"fail-launch=LAUNCH[@N], hang-launch=LAUNCH[@N], never-ready=LAUNCH[@N], LAUNCH being any, a NodePool or an instance type, " +
	"fail-upgrade=WHAT[@ATTEMPT] or hang-upgrade=WHAT[@ATTEMPT], WHAT being any, Full, ControlPlaneOnly, NodeImageOnly, controlPlane or a node pool"

// Parse reads faults as people write them: "down", "slow=2s", "fail=Deployment", "stuck=Deployment/shop/web",
// "fail-upgrade=np1@1".
func Parse(words []string) (Faults, error) {
	var f Faults
	for _, word := range words {
		name, value, valued := strings.Cut(word, "=")
		at := slices.IndexFunc(forms, func(k form) bool { return k.name == name })
		if at < 0 || valued != (value != "") || valued == forms[at].bare {
			return Faults{}, fmt.Errorf("fault %q: expected %s", word, Forms)
		}
		if err := forms[at].read(&f, word, value); err != nil {
			return Faults{}, err
		}
	}
	return f, nil
}

// form is how one kind of fault is read, and written.
type form struct {
	name string
	bare bool // it has no value
	read func(f *Faults, word, value string) error
	// texts are the values there are, "" of one that has none.
	texts func(f *Faults) []string
}

// forms are all of them, in the order in which they are written.
var forms = []form{
	flag("down", func(f *Faults) *bool { return &f.Down }),
	flag("off", func(f *Faults) *bool { return &f.Off }),
	{"slow", false, readSlow, func(f *Faults) []string {
		if f.Slow <= 0 {
			return nil
		}
		return []string{f.Slow.String()}
	}},
	list("fail", func(f *Faults) *[]string { return &f.Fail }, plain),
	list("stuck", func(f *Faults) *[]string { return &f.Stuck }, plain),
	list("not-ready", func(f *Faults) *[]string { return &f.NotReady }, plain),
	list("lost", func(f *Faults) *[]string { return &f.Lost }, plain),
	list("drifted", func(f *Faults) *[]Drift { return &f.Drifted }, func(_, value string) (Drift, error) {
		node, reason, _ := strings.Cut(value, ":")
		return Drift{node, reason}, nil
	}),
	{"busy", false, func(f *Faults, _, value string) error { f.Busy = value; return nil }, func(f *Faults) []string {
		if f.Busy == "" {
			return nil
		}
		return []string{f.Busy}
	}},
	list("fail-launch", func(f *Faults) *[]Launch { return &f.FailLaunch }, readLaunch),
	list("hang-launch", func(f *Faults) *[]Launch { return &f.HangLaunch }, readLaunch),
	list("never-ready", func(f *Faults) *[]Launch { return &f.NeverReady }, readLaunch),
	list("fail-upgrade", func(f *Faults) *[]Upgrade { return &f.FailUpgrade }, readUpgrade),
	list("hang-upgrade", func(f *Faults) *[]Upgrade { return &f.HangUpgrade }, readUpgrade),
}

func flag(name string, of func(*Faults) *bool) form {
	return form{name, true, func(f *Faults, _, _ string) error { *of(f) = true; return nil }, func(f *Faults) []string {
		if !*of(f) {
			return nil
		}
		return []string{""}
	}}
}

func list[T any](name string, of func(*Faults) *[]T, read func(word, value string) (T, error)) form {
	return form{name, false, func(f *Faults, word, value string) error {
		one, err := read(word, value)
		if err == nil {
			*of(f) = append(*of(f), one)
		}
		return err
	}, func(f *Faults) []string {
		var out []string
		for _, one := range *of(f) {
			out = append(out, fmt.Sprint(one))
		}
		return out
	}}
}

func plain(_, value string) (string, error) { return value, nil }

func readSlow(f *Faults, word, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return fmt.Errorf("fault %q: %q is not a duration such as 2s", word, value)
	}
	f.Slow = d
	return nil
}

func readUpgrade(word, value string) (Upgrade, error) {
	what, n, err := parseNumbered(word, value, "an attempt")
	return Upgrade{what, n}, err
}

func readLaunch(word, value string) (Launch, error) {
	what, n, err := parseNumbered(word, value, "a launch")
	return Launch{what, n}, err
}

// parseNumbered reads "WHAT" and "WHAT@2"; the number, of what it counts, is 0 when there is none.
func parseNumbered(word, value, counts string) (what string, n int, err error) {
	what, number, limited := strings.Cut(value, "@")
	if limited {
		if n, err = strconv.Atoi(number); err != nil || n < 1 {
			return "", 0, fmt.Errorf("fault %q: %q is not %s, a number from 1", word, number, counts)
		}
	}
	if what == "" {
		return "", 0, fmt.Errorf("fault %q: expected %s", word, Forms)
	}
	return what, n, nil
}

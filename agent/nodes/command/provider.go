package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/exec"
	"flotilla/core/api"
)

// Options of a Provider. Member, Launch, Delete and Timeout are needed.
type Options struct {
	// Member whose machines they are.
	Member string
	// Launch and Delete are commands with their arguments, and Exists if any; not read by a shell.
	Launch, Delete, Exists []string
	// Environment is added to the agent's.
	Environment map[string]string
	// Directory they run in, the agent's when empty.
	Directory string
	// Timeout ends a command that takes longer, Grace after it was told to end it is killed.
	Timeout, Grace time.Duration
}

// Provider runs the commands of one member.
type Provider struct{ o Options }

// New checks that the commands can be found.
func New(o Options) (*Provider, error) {
	for _, one := range []struct {
		name    string
		command []string
		needed  bool
	}{{"launch", o.Launch, true}, {"delete", o.Delete, true}, {"exists", o.Exists, false}} {
		switch {
		case len(one.command) == 0 && one.needed:
			return nil, fmt.Errorf("nodes.exec.%s: found nothing, expected a command", one.name)
		case len(one.command) == 0:
			continue
		}
		if err := exec.Findable(one.command[0], o.Directory); err != nil {
			return nil, fmt.Errorf("nodes.exec.%s: the command %q cannot be run: %w", one.name, one.command[0], err)
		}
	}
	return &Provider{o}, nil
}

// String names the provider.
func (p *Provider) String() string { return "exec" }

// Launch runs the command that launches.
func (p *Provider) Launch(ctx context.Context, l api.NodeLaunch) (api.LaunchedNode, error) {
	var out api.LaunchedNode
	a, err := p.run(ctx, p.o.Launch, l, []string{
		"FLOTILLA_MEMBER=" + p.o.Member,
		"FLOTILLA_LAUNCH=" + l.Name,
		"FLOTILLA_NODE_POOL=" + l.Pool,
		"FLOTILLA_INSTANCE_TYPES=" + strings.Join(l.InstanceTypes, " "),
		"FLOTILLA_CAPACITY_TYPES=" + strings.Join(allowed(l.Requirements, api.LabelCapacityType), " "),
		"FLOTILLA_ZONES=" + strings.Join(allowed(l.Requirements, corev1.LabelTopologyZone), " "),
	})
	switch {
	case err != nil:
		return out, err
	case a.Exit == exec.TryLater:
		return out, fmt.Errorf("%s asks to try again later%s", p.o.Launch[0], a.Because())
	case a.Exit != 0:
		out.Failed = fmt.Sprintf("%s ended with exit code %d%s", p.o.Launch[0], a.Exit, a.Because())
		return out, nil
	case strings.HasPrefix(a.Printed, "{"):
		err = json.Unmarshal([]byte(a.Printed), &out)
	default:
		out.Node = a.Printed
	}
	if err == nil && strings.ContainsAny(out.Node, " \t\n\"") {
		err = errors.New("a name has no spaces")
	}
	if err == nil && out.Node == "" && out.ProviderID == "" && out.Failed == "" {
		err = errors.New("it printed nothing")
	}
	if err != nil {
		return api.LaunchedNode{}, fmt.Errorf(`%s is to print the name of the node, or {"node": "…", "providerID": "…"}: %w`, p.o.Launch[0], err)
	}
	return out, nil
}

// allowed are the values of a label that requirements list, nil when they list none.
func allowed(requirements []api.NodeRequirement, label string) []string {
	for _, r := range requirements {
		if r.Key == label && r.Operator == string(corev1.NodeSelectorOpIn) {
			return r.Values
		}
	}
	return nil
}

// Delete runs the command that deletes. The machine is gone when the command that looks, if there is one,
// says so too.
func (p *Provider) Delete(ctx context.Context, m api.NodeMachine) (bool, error) {
	a, err := p.run(ctx, p.o.Delete, m, p.about(m))
	switch {
	case err != nil:
		return false, err
	case a.Exit == exec.TryLater:
		return false, nil
	case a.Exit != 0:
		return false, fmt.Errorf("%s ended with exit code %d%s", p.o.Delete[0], a.Exit, a.Because())
	}
	if strings.HasPrefix(a.Printed, "{") {
		said := struct {
			Gone *bool `json:"gone"`
		}{}
		if err := json.Unmarshal([]byte(a.Printed), &said); err != nil {
			return false, fmt.Errorf(`%s is to print nothing, or {"gone": false}: %w`, p.o.Delete[0], err)
		}
		if said.Gone != nil && !*said.Gone {
			return false, nil
		}
	}
	if len(p.o.Exists) == 0 {
		return true, nil
	}
	return p.Gone(ctx, m)
}

// Gone runs the command that looks; without one nothing is ever known to be gone.
func (p *Provider) Gone(ctx context.Context, m api.NodeMachine) (bool, error) {
	if len(p.o.Exists) == 0 {
		return false, nil
	}
	a, err := p.run(ctx, p.o.Exists, m, p.about(m))
	if err != nil {
		return false, err
	}
	if a.Exit != 0 {
		return false, fmt.Errorf("%s ended with exit code %d%s", p.o.Exists[0], a.Exit, a.Because())
	}
	exists, err := strconv.ParseBool(a.Printed)
	if err != nil {
		return false, fmt.Errorf("%s printed %q, expected true or false", p.o.Exists[0], a.Printed)
	}
	return !exists, nil
}

// about are the variables of commands about a machine.
func (p *Provider) about(m api.NodeMachine) []string {
	return []string{
		"FLOTILLA_MEMBER=" + p.o.Member, "FLOTILLA_NODE=" + m.Node, "FLOTILLA_PROVIDER_ID=" + m.ProviderID, "FLOTILLA_LAUNCH=" + m.Launch,
	}
}

// run runs a command to its end. The error says that there is no exit code to judge by.
func (p *Provider) run(ctx context.Context, argv []string, input any, variables []string) (exec.Answer, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return exec.Answer{}, err
	}
	c := exec.Command{
		Argv: argv, Input: text, Environment: exec.Variables(p.o.Environment, variables...), Directory: p.o.Directory,
		Timeout: p.o.Timeout, Grace: p.o.Grace,
	}
	return c.Run(ctx)
}

package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// maxLaunch bounds the names of launches, which become names of files.
const maxLaunch = 200

// maxFailed bounds what is told of a launch that failed: results have little room.
const maxFailed = 300

// begin notes launches on the disk that were not begun before, and has the provider asked.
func (c *lifecycle) begin(d *api.Disruption) error {
	command, _ := c.ledger.wanted()
	for i := range d.Replacements {
		r := &d.Replacements[i]
		if _, begun := c.ledger.launch(r.Name); begun || refuse(r, command) != "" {
			continue
		}
		if err := c.o.Hub.Twin(); err != nil {
			return err
		}
		pool := poolOf(r, command)
		if err := c.ledger.save(newLaunch(c.o.Member, d.ID, r, pool, c.o.Hub.Now())); err != nil {
			return err
		}
		c.o.Log.Info().Str("disruption", d.ID).Str("launch", r.Name).Str("pool", r.Pool).Msg("a replacement is launched")
		c.machines.Add(launchKey + r.Name)
	}
	return nil
}

func poolOf(r *api.NodeReplacement, command *api.DisruptionCommand) *api.PoolTemplate {
	at := slices.IndexFunc(command.Pools, func(p api.PoolTemplate) bool { return p.Name == r.Pool })
	if at < 0 {
		return nil
	}
	return &command.Pools[at]
}

// refuse says why a replacement cannot be launched at all, empty when it can.
func refuse(r *api.NodeReplacement, command *api.DisruptionCommand) string {
	switch {
	case r.Name == "" || len(r.Name) > maxLaunch:
		return fmt.Sprintf("the launch is named %q, expected a name of up to %d characters", r.Name, maxLaunch)
	case poolOf(r, command) == nil:
		return fmt.Sprintf("the command holds no template of NodePool %s", r.Pool)
	}
	return ""
}

// launch brings one launch on its way: the provider is asked until it answers, and what is not wanted
// any more before it is initialized is taken away again.
func (c *lifecycle) launch(ctx context.Context, name string) (time.Time, error) {
	if !c.asks.take(name) {
		return c.o.Hub.Now().Add(firstAsk), nil
	}
	defer c.asks.leave(name)
	one, ok := c.ledger.launch(name)
	if !ok || !c.ledger.heard() {
		return time.Time{}, nil
	}
	if err := c.o.Hub.Twin(); err != nil {
		return time.Time{}, err
	}
	l, err := c.look(ctx)
	if err != nil {
		return time.Time{}, err
	}
	n := l.made(&one)
	switch {
	case !c.ledger.wants(&one):
		return c.takeBack(ctx, one, n)
	case one.Launched == nil:
		if again := c.asks.again(name); c.o.Hub.Now().Before(again) {
			return again, nil
		}
		defer c.disruptions.Add(one.Disruption)
		return c.ask(ctx, one)
	}
	c.disruptions.Add(one.Disruption)
	if n == nil {
		return time.Time{}, nil
	}
	return time.Time{}, c.sight(one)
}

// takeBack ends a launch that is not wanted any more. What is initialized stays; the end of a node comes
// before that of its machine.
func (c *lifecycle) takeBack(ctx context.Context, one launch, n *corev1.Node) (time.Time, error) {
	switch {
	case n != nil && n.Labels[api.LabelInitialized] == "true":
		defer c.disruptions.Add(one.Disruption)
		return time.Time{}, c.forget(one)
	case n != nil:
		if n.DeletionTimestamp == nil {
			c.nodes.Add(n.Name)
		}
		return c.o.Hub.Now().Add(lookAgain), nil
	}
	if again := c.asks.again(one.Launch.Name); c.o.Hub.Now().Before(again) {
		return again, nil
	}
	defer c.disruptions.Add(one.Disruption)
	return c.discard(ctx, one)
}

// sight notes that the node of a launch was there: from then on its absence is its end.
func (c *lifecycle) sight(one launch) error {
	if one.Seen {
		return nil
	}
	one.Seen = true
	return c.ledger.save(one)
}

// ask asks the provider for a launch and keeps its answer.
func (c *lifecycle) ask(ctx context.Context, one launch) (again time.Time, err error) {
	answer, err := c.o.Provider.Launch(ctx, one.Launch)
	if err == nil && answer.Failed == "" && answer.Node == "" && answer.ProviderID == "" {
		err = errors.New("it told neither the node's name nor its provider id")
	}
	if err != nil {
		return c.askAgain(ctx, one, err), nil
	}
	answer.Failed = clip(answer.Failed, maxFailed)
	one.Launched = &answer
	if err := c.ledger.save(one); err != nil {
		return c.askAgain(ctx, one, err), nil
	}
	c.asks.over(one.Launch.Name)
	level := zerolog.InfoLevel
	if answer.Failed != "" {
		level = zerolog.WarnLevel
	}
	c.o.Log.WithLevel(level).Str("launch", one.Launch.Name).Str("node", answer.Node).Str("failed", answer.Failed).Msg("the provider answered a launch")
	c.looker.spoil()
	c.nodes.Add(everyNode)
	return time.Time{}, nil
}

// discard takes away what came of a launch that is not wanted any more and has no node. The provider is
// asked although it said that the launch failed: a machine that nobody wants must not be paid for.
func (c *lifecycle) discard(ctx context.Context, one launch) (again time.Time, err error) {
	gone, err := c.o.Provider.Delete(ctx, one.machine())
	if err != nil || !gone {
		return c.askAgain(ctx, one, err), nil
	}
	c.asks.over(one.Launch.Name)
	c.o.Log.Info().Str("launch", one.Launch.Name).Msg("a launch was taken back")
	return time.Time{}, c.forget(one)
}

// forget drops a launch that is over.
func (c *lifecycle) forget(one launch) error {
	err := c.ledger.forget(one.Launch.Name)
	if err == nil {
		c.setTold(one.Disruption, launchKey+one.Launch.Name)
	}
	return err
}

// askAgain notes that the provider has to be asked again about a launch, and returns when.
func (c *lifecycle) askAgain(ctx context.Context, one launch, err error) time.Time {
	now := c.o.Hub.Now()
	again := c.asks.failed(one.Launch.Name, err, now)
	if err != nil && ctx.Err() == nil {
		c.o.Log.Warn().Err(err).Stringer("provider", c.o.Provider).Str("launch", one.Launch.Name).Dur("again", again.Sub(now)).Msg("the provider cannot be asked")
	}
	return again
}

// replacement is what is known of one: its place in a result, and what it waits for.
func (c *lifecycle) replacement(d *api.Disruption, r *api.NodeReplacement, l *look) (api.NodeReplacement, string) {
	out := api.NodeReplacement{Name: r.Name, Pool: r.Pool}
	one, begun := c.ledger.launch(r.Name)
	command, _ := c.ledger.command()
	switch {
	case !begun && d.Phase == api.PhaseLaunching:
		out.Failed = refuse(r, command)
		return out, ""
	case !begun:
		return out, ""
	case one.Launched == nil:
		return out, waits(r.Name, "the provider", c.asks.why(r.Name))
	case one.failed() != "":
		out.Failed = one.failed()
		return out, ""
	}
	out.Node = one.Launched.Node
	n := l.made(&one)
	switch {
	case n == nil && one.Seen:
		out.Failed = fmt.Sprintf("node %s, which was launched, is gone", out.Node)
		return out, ""
	case n == nil:
		return out, waits(r.Name, "its Node to show up", "")
	}
	out.Node, out.Initialized = n.Name, n.Labels[api.LabelInitialized] == "true"
	if out.Initialized {
		return out, ""
	}
	return out, waits(r.Name, "node "+n.Name, strings.Join(uninitialized(n), ", "))
}

func waits(name, what, why string) string {
	text := fmt.Sprintf("replacement %s waits for %s", name, what)
	if why != "" {
		text += ": " + why
	}
	return text
}

// leftovers are the nodes of the launches of a disruption that must go when it is given up.
func (c *lifecycle) leftovers(id string, l *look) []*corev1.Node {
	var out []*corev1.Node
	for _, one := range c.ledger.all() {
		if n := l.made(&one); one.Disruption == id && n != nil && n.Labels[api.LabelInitialized] != "true" {
			out = append(out, n)
		}
	}
	return out
}

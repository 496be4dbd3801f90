package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/validate/upgrades"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/cli/show"
)

// lookFor is how long create waits for the members that the hub selects.
const lookFor = 3 * time.Second

type createOptions struct {
	show.Output
	to, kind string
	images   []string
	strategy string
	stages   stageFlags
	policy   policyFlags
	dryRun   string
	start    bool
	watch    bool
}

func (a commands) runCreateCommand() *cobra.Command {
	o := &createOptions{}
	cmd := &cobra.Command{
		Use:   "create [NAME] --to VERSION [-l SELECTOR | --stage … | --strategy NAME]",
		Short: "Make an update run of flags; it is started by run start, or at once with --start",
		Long: `Make an update run. Without any flag but --to, all members are upgraded one by one; -l narrows them. Stages and groups come
from flags or from a strategy on the hub. The run's name is made from what it does when none is given. No catalog of versions is needed.

A stage is NAME, or NAME:SELECTOR for members by label. A group is NAME for the members whose label flotilla.io/update-group says so,
or NAME:SELECTOR; STAGE/NAME puts it into a stage. Settings of one stage or group are written SCOPE=VALUE.`,
		Example: `  flotilla run create --to 1.31.2 -l env=dev
  flotilla run create spring --to 1.31 --stage canary:ring=0 --stage prod:ring!=0 --wait canary=1h --max-concurrency prod=25% --start
  flotilla run create --type NodeImageOnly --node-images Consistent --strategy careful
  flotilla run create --to 1.31.2 --group eu --group us --dry-run=client -o yaml | flotilla plan -f -`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.RunE = a.Do(func(ctx context.Context, args []string) error { return a.runCreate(ctx, o, args) })
	flags := cmd.Flags()
	flags.StringVar(&o.to, "to", "", `Kubernetes version, "1.31.2", or "1.31" for its newest patch in the catalog`)
	flags.StringVar(&o.kind, "type", "", "Full, ControlPlaneOnly or NodeImageOnly (default Full; without --to NodeImageOnly when --node-images is given)")
	flags.StringSliceVar(&o.images, "node-images", nil, "Latest, Consistent, or the image versions to use (default Latest)")
	flags.StringVar(&o.strategy, "strategy", "", "the UpdateStrategy to follow")
	o.stages.addFlags(flags)
	o.policy.addFlags(flags)
	flags.StringVar(&o.dryRun, "dry-run", "none", "none, client (show the run, ask no hub) or server (ask the hub, change nothing)")
	flags.StringVarP(&o.Format, "output", "o", "", "show the run that is made: yaml, json or name")
	flags.BoolVar(&o.start, "start", false, "start it at once")
	flags.BoolVarP(&o.watch, "watch", "w", false, "with --start, follow it until it ends")
	a.CompleteFlagNames(cmd, "strategy", api.KindUpdateStrategy)
	a.CompleteFlagWords(cmd, "type", api.UpgradeFull, api.UpgradeControlPlaneOnly, api.UpgradeNodeImageOnly)
	a.CompleteFlagWords(cmd, "node-images", api.ImagesLatest, api.ImagesConsistent)
	a.CompleteFlagWords(cmd, "dry-run", "none", "client", "server")
	for _, word := range o.policy.words() {
		a.CompleteFlagWords(cmd, word.flag, word.known...)
	}
	return cmd
}

func (a commands) runCreate(ctx context.Context, o *createOptions, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	run, err := o.run(a.Now())
	if err != nil {
		return err
	}
	if len(args) > 0 {
		if run.Name, err = resource.NameOfKind(args[0], api.KindUpdateRun, "an update run"); err != nil {
			return err
		}
	}
	if faults := upgrades.UpdateRun(run); len(faults) > 0 {
		return faults
	}
	if o.dryRun == "client" {
		return a.printRun(o, run)
	}
	if err := a.freeName(ctx, run, len(args) > 0); err != nil {
		return err
	}
	return a.makeRun(ctx, o, run)
}

func (o *createOptions) check() error {
	switch {
	case o.dryRun != "none" && o.dryRun != "client" && o.dryRun != "server":
		return session.Usagef("--dry-run: found %q, expected none, client or server", o.dryRun)
	case o.Format != "" && o.Format != "yaml" && o.Format != "json" && o.Format != "name":
		return session.Usagef("unknown output format %q, expected yaml, json or name", o.Format)
	case o.watch && !o.start:
		return session.Usagef("--watch follows a run that goes on: add --start")
	case o.start && o.dryRun != "none":
		return session.Usagef("--start and --dry-run exclude each other")
	case o.strategy != "" && o.stages.given():
		return session.Usagef("stages come from --strategy or from the other flags (-l, --stage, --group, …), not from both")
	}
	return nil
}

// run is the object that the flags describe; its name is made from what it does.
func (o *createOptions) run(now time.Time) (*api.UpdateRun, error) {
	run := &api.UpdateRun{TypeMeta: metav1.TypeMeta{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun}}
	var err error
	if run.Spec.Upgrade, err = o.upgrade(); err != nil {
		return nil, err
	}
	run.Spec.StrategyName = o.strategy
	if run.Spec.Strategy, err = o.stages.strategy(); err != nil {
		return nil, err
	}
	if run.Spec.Policy, err = o.policy.policy(); err != nil {
		return nil, err
	}
	run.Name = madeName(&run.Spec.Upgrade, now)
	return run, nil
}

func (o *createOptions) upgrade() (api.Upgrade, error) {
	u := api.Upgrade{Type: o.kind, KubernetesVersion: o.to}
	if u.Type == "" {
		u.Type = api.UpgradeFull
		if o.to == "" && len(o.images) > 0 {
			u.Type = api.UpgradeNodeImageOnly
		}
	}
	types, err := wordsAmong("--type", []string{u.Type}, []string{api.UpgradeFull, api.UpgradeControlPlaneOnly, api.UpgradeNodeImageOnly})
	if err != nil {
		return u, err
	}
	u.Type = types[0]
	switch {
	case u.Type == api.UpgradeNodeImageOnly && o.to != "":
		return u, session.Usagef("--to names a Kubernetes version, which type NodeImageOnly leaves as it is")
	case u.Type != api.UpgradeNodeImageOnly && o.to == "":
		return u, session.Usagef("name the Kubernetes version with --to 1.31.2, or ask for --type NodeImageOnly")
	}
	u.NodeImageSelection = imageSelection(o.images)
	return u, nil
}

// imageSelection reads Latest, Consistent or a list of images; nil without any.
func imageSelection(images []string) *api.NodeImageSelection {
	if len(images) == 0 {
		return nil
	}
	if kinds, err := wordsAmong("", images, []string{api.ImagesLatest, api.ImagesConsistent}); err == nil && len(kinds) == 1 {
		return &api.NodeImageSelection{Type: kinds[0]}
	}
	s := &api.NodeImageSelection{Type: api.ImagesCustom}
	for _, image := range images {
		s.CustomNodeImageVersions = append(s.CustomNodeImageVersions, api.NodeImageVersion{Version: image})
	}
	return s
}

// madeName is "upgrade-1-31-2", "control-plane-1-31-2" or "node-images-20261120".
func madeName(u *api.Upgrade, now time.Time) string {
	version := strings.ReplaceAll(strings.TrimPrefix(u.KubernetesVersion, "v"), ".", "-")
	switch u.Type {
	case api.UpgradeControlPlaneOnly:
		return "control-plane-" + version
	case api.UpgradeNodeImageOnly:
		return "node-images-" + now.UTC().Format("20060102")
	default:
		return "upgrade-" + version
	}
}

// freeName refuses a name that the user chose and that a run has already; a made name gets a number.
func (a commands) freeName(ctx context.Context, run *api.UpdateRun, chosen bool) error {
	base := run.Name
	for n := 2; ; n++ {
		r := resource.Named(api.KindUpdateRun, run.Name)
		_, err := a.Fetch(ctx, r)
		switch {
		case session.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case chosen:
			return &session.Failure{
				Code: session.ExitRefused, Message: fmt.Sprintf("%s: there is a run %s already", api.CodeNameExists, run.Name),
				Next: "flotilla run status " + run.Name,
			}
		}
		run.Name = fmt.Sprintf("%s-%d", base, n)
	}
}

// makeRun applies the run, shows what the hub made of it, and starts it when that is asked for.
func (a commands) makeRun(ctx context.Context, o *createOptions, run *api.UpdateRun) error {
	body, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("encoding the run: %w", err)
	}
	dry := o.dryRun == "server"
	var reply api.ApplyResponse
	request := api.ApplyRequest{Request: rand.Text(), DryRun: dry, Documents: []json.RawMessage{body}}
	if err := a.Call(ctx, api.VerbApply, request, &reply); err != nil {
		return err
	}
	for i := range reply.Results {
		reply.Notes = append(reply.Notes, reply.Results[i].Notes...)
	}
	a.Notes(reply.Notes)
	if o.Format != "" {
		if err := a.printRun(o, run); err != nil || !o.start {
			return err
		}
	} else if dry {
		a.Printf("run %s created (server dry run)\n", run.Name)
		return nil
	} else {
		a.Printf("run %s created\n", run.Name)
		if !o.start {
			a.showMade(ctx, run.Name)
		}
	}
	if !o.start {
		a.Next("flotilla run start %s", run.Name)
		return nil
	}
	start := &operation{verb: api.VerbRunStart, request: api.RunRequest{Run: run.Name}, done: "started"}
	return a.operateAndFollow(ctx, start, o.watch)
}

// showMade shows the tree of a new run once the hub has selected its members; a hub that takes longer
// is not waited for.
func (a commands) showMade(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	for {
		run, err := a.fetchRun(ctx, name)
		if err != nil {
			return
		}
		if run.Status != nil {
			a.Printf("%s", drawTree(runTree(run, outlook{}, a.Now()), a.Terminal))
			return
		}
		if !session.Pause(ctx, session.PollInterval/5) {
			return
		}
	}
}

// printRun shows the run as the object it is, without the fields that only a hub fills.
func (a commands) printRun(o *createOptions, run *api.UpdateRun) error {
	a.Machine = true
	body, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("encoding the run: %w", err)
	}
	obj, err := resource.DecodeObject(body)
	if err != nil {
		return err
	}
	p, err := (&show.Output{Format: cmp.Or(o.Format, "yaml")}).Printer()
	if err != nil {
		return err
	}
	return show.Print1(p, obj, a.Out)
}

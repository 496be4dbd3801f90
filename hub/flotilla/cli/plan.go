package cli

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/plan"
)

// moment is what plan and why share: the time they look at, and whether they ask a hub.
type moment struct {
	now     string
	offline bool
}

func (m *moment) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&m.now, "now", "", "time to plan for, RFC 3339 (default: now; offline, the newest heartbeat in the files)")
	flags.BoolVar(&m.offline, "offline", false, "answer from the files alone; so it is whenever no hub is configured")
}

func (m *moment) time() (time.Time, error) {
	if m.now == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, m.now)
	if err != nil {
		return t, usagef("--now: found %q, expected a time such as 2026-03-01T12:00:00Z", m.now)
	}
	return t, nil
}

type planOptions struct {
	source
	moment
	format string
}

func (a *app) planCommand() *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:   "plan -f FILE… | -k DIR",
		Short: "Show what applying files would change on which member, and why; changes nothing",
		Long: `Show what applying files would change: + members that a placement would gain, = keep, - lose, each
with its reason, and whose content would change.

It asks the hub, or, with --offline and whenever no hub is configured, answers from the files alone.
Offline, the files hold the fleet: MemberClusters with their status, as exported from Flotilla or from
a KubeFleet hub, placements, and, if wanted, what is bound now (exported ClusterResourceBindings and
ClusterSchedulingPolicySnapshots, Schedule records, or placements with status and uid).

Exit 0 when nothing would change, 1 when something would, 3 when the files are refused.`,
		Example: `  flotilla plan -f web.yaml
  flotilla plan -f fleet.yaml -f web.yaml --offline -o json
  kubectl get memberclusters,clusterresourceplacements,clusterresourcebindings -o yaml | flotilla plan -f - --offline`,
		Args: noArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error { return a.plan(ctx, o) }),
	}
	o.source.addFlags(cmd.Flags())
	o.moment.addFlags(cmd.Flags())
	a.namespaceFlag(cmd.Flags())
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json: the stable form of docs/json.md; wide: every verdict")
	return cmd
}

func (a *app) plan(ctx context.Context, o *planOptions) error {
	if o.format != "" && o.format != "json" && o.format != "wide" {
		return usagef("unknown output format %q, expected json or wide", o.format)
	}
	at, err := o.time()
	if err != nil {
		return err
	}
	a.machine = o.format == "json"
	documents, err := a.read(&o.source)
	if err != nil {
		return err
	}
	offline := o.offline || !a.connection.configured(a.Getenv)
	var answer plan.Answer
	if offline {
		answer, err = a.planOffline(documents, at)
	} else {
		answer, err = a.planLive(ctx, documents, at)
	}
	if err != nil {
		return err
	}
	if offline && !o.offline {
		answer.Notes = append(answer.Notes, "no hub is configured (--url, NATS_URL, --context): planned from the files alone")
	}
	if err := a.printPlan(o, &answer); err != nil {
		return err
	}
	if !answer.Changed() {
		return nil
	}
	if !offline {
		a.nextWith(&o.source, "apply")
	}
	return different()
}

func (a *app) planLive(ctx context.Context, documents []document, at time.Time) (plan.Answer, error) {
	request := api.PlanRequest{}
	for _, d := range documents {
		request.Documents = append(request.Documents, d.body)
	}
	if !at.IsZero() {
		request.Now = &metav1.Time{Time: at}
	}
	var answer plan.Answer
	if err := a.call(ctx, api.VerbPlan, request, &answer); err != nil {
		return answer, describeFaults(err, documents)
	}
	return answer, nil
}

func (a *app) planOffline(documents []document, at time.Time) (plan.Answer, error) {
	in, err := a.collect(documents, at)
	if err != nil {
		return plan.Answer{}, err
	}
	return plan.Build(in), nil
}

// collect reads documents into the input of a plan, and settles which time it is for.
func (a *app) collect(documents []document, at time.Time) (plan.Input, error) {
	planned := make([]plan.Document, len(documents))
	for i, d := range documents {
		planned[i] = plan.Document{JSON: d.body, Where: d.origin, Object: d.ref}
	}
	decodeAll(planned)
	c, faults := plan.Collect(planned)
	if err := faults.Err(); err != nil {
		return plan.Input{}, err
	}
	if len(c.Subjects) == 0 {
		return plan.Input{}, &Failure{
			Code:    ExitRefused,
			Message: fmt.Sprintf("the files hold no placement to plan: found %d members in %d documents", len(c.Members), len(documents)),
			Next:    "flotilla plan -f FLEET.yaml -f PLACEMENT.yaml",
		}
	}
	in := plan.Input{Subjects: c.Subjects, Members: c.Members, Now: at, Notes: c.Notes}
	if len(c.Members) == 0 {
		in.Notes = append(in.Notes, "the files hold no MemberCluster: nothing can be picked")
	}
	switch {
	case !at.IsZero():
	case !c.NewestBeat.IsZero():
		in.Now = c.NewestBeat
		in.Notes = append(in.Notes, "planned for "+in.Now.UTC().Format(time.RFC3339)+", the newest heartbeat in the files; --now sets another time")
	default:
		in.Now = a.Now()
		in.Notes = append(in.Notes, "planned for the present: the files hold no heartbeat; --now sets another time")
	}
	return in, nil
}

// decodeAll decodes documents on every processor.
func decodeAll(documents []plan.Document) {
	workers := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(documents); i += workers {
				documents[i].Decode()
			}
		})
	}
	all.Wait()
}

func (a *app) printPlan(o *planOptions, answer *plan.Answer) error {
	for _, text := range answer.Notes {
		a.note("%s", text)
	}
	if o.format == "json" {
		return printJSON(a.Out, answer.Report)
	}
	a.printf("%s", a.coloured(answer.String()))
	if o.format == "wide" {
		for i := range answer.Placements {
			a.printVerdicts(&answer.Placements[i])
		}
	}
	return nil
}

func (a *app) printVerdicts(p *plan.Placement) {
	a.printf("\nverdicts of %s\n", p.Name)
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		rank := ""
		if v.Rank > 0 {
			rank = fmt.Sprintf("rank %d, ", v.Rank)
		}
		a.printf("  %s: %s%s\n", v.Member, rank, strings.TrimSpace(v.Reason))
	}
}

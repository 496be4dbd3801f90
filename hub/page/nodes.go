package page

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/deed"
	"flotilla/core/disruption"
	"flotilla/core/explain"
	"flotilla/core/overview"
	"flotilla/core/phrase"
)

// nodesScreen says which nodes go, why others stay, and what is saved.
var nodesScreen = &screen{Name: "Nodes", Home: "/nodes", Key: "n", patterns: []string{"/nodes"}, draw: drawNodes}

const (
	// nodeWindow is how many nodes stand on the page at once.
	nodeWindow = 80
	// mostNodes bounds how many nodes of the fleet are read.
	mostNodes = 50_000
	// nodesKept is for how long what was read of all members is shown: it is much.
	nodesKept = 10 * time.Second
	// shownNames, shownLines and shownMoves are how many names, notes, and pods that move, are told at once.
	shownNames, shownLines, shownMoves = 5, 20, 40
)

// population is what is known of nodes, of one member or of all.
type population struct {
	At          time.Time
	Nodes       []api.MemberNode
	Disruptions []api.NodeDisruption
	Budgets     *disruption.BudgetReport
	Notes       []string
	Pools       []overview.PoolSum
}

// census keeps what was read last of the nodes of all members.
type census struct {
	*turn
	last *population
}

// all is what is known of the nodes of all members.
func (c *census) all(v *visit) (*population, error) {
	leave, err := c.take(v.ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if c.last != nil && v.now().Sub(c.last.At) < nodesKept {
		return c.last, nil
	}
	read, err := v.population("")
	if err == nil {
		c.last = read
	}
	return read, err
}

// population reads what is known of the nodes of a member, of all where it is empty.
func (v *visit) population(member string) (*population, error) {
	p := &population{At: v.now(), Budgets: &disruption.BudgetReport{}}
	err := pages(func(next string) (string, error) {
		var answer api.NodesResponse
		err := v.ask(api.VerbNodes, api.NodesRequest{Member: member, Continue: next}, &answer)
		if p.Nodes, p.Notes = append(p.Nodes, answer.Items...), append(p.Notes, answer.Notes...); len(p.Nodes) >= mostNodes {
			p.Notes = append(p.Notes, fmt.Sprintf("these are the first %s nodes: name a member to see the others", phrase.Digits(len(p.Nodes))))
			return "", err
		}
		return answer.Continue, err
	})
	if err != nil {
		return nil, err
	}
	err = pages(func(next string) (string, error) {
		var answer api.DisruptionsResponse
		err := v.ask(api.VerbDisruptions, api.DisruptionsRequest{Member: member, Continue: next}, &answer)
		p.Disruptions = append(p.Disruptions, answer.Items...)
		return answer.Continue, err
	})
	if err != nil {
		return nil, err
	}
	if err := v.ask(api.VerbBudgets, api.BudgetsRequest{Member: member}, p.Budgets); err != nil {
		return nil, err
	}
	for _, note := range p.Budgets.Notes {
		if !slices.Contains(p.Notes, note) {
			p.Notes = append(p.Notes, note)
		}
	}
	p.Pools = overview.PoolsOf(p.Nodes, p.Disruptions, p.Budgets)
	return p, nil
}

// nodesOf is what the URL asks for.
type nodesOf struct {
	population
	Member, Pool string
	// Members are members with what they have of the pool, where none is named; Some those that stand on the page.
	Members, Some []overview.PoolSum
	// Under are the disruptions under way, Ended those that ended of late.
	Under, Ended []api.NodeDisruption
	// Plan is what would begin now on the member, and Fault why that is not known.
	Plan  *explain.MemberForecast
	Fault string
	// Window are the nodes of the member that stand on the page.
	Window []api.MemberNode
	// Shown are which of the nodes, or of the Members, stand on the page.
	Shown overview.Span
}

func drawNodes(v *visit) (*drawing, error) {
	seen, err := v.nodes()
	if err != nil {
		return nil, err
	}
	// all else of what was seen is let go once it is drawn
	pools, nodes := append(slices.Clip(seen.Pools), seen.Members...), seen.Nodes
	d := &drawing{Title: "Nodes", Parts: []part{{"pools", "pools", seen}, {"disruptions", "disruptions", seen}}, Table: made(func() *overview.Table { return overview.PoolTable(pools) })}
	if len(seen.Members) > 0 {
		d.Parts = slices.Insert(d.Parts, 1, part{"pool-members", "pool-members", seen})
	}
	if seen.Member != "" {
		d.Title, d.Table = "Nodes of "+seen.Member, made(func() *overview.Table { return overview.NodeTable(nodes) })
		d.Parts = append(d.Parts, part{"moves", "moves", seen}, part{"nodes", "nodes", seen})
	}
	return d, nil
}

func (v *visit) nodes() (*nodesOf, error) {
	seen := &nodesOf{Member: v.query("member"), Pool: v.query("pool")}
	read := v.page.census.all
	if seen.Member != "" {
		read = func(v *visit) (*population, error) { return v.population(seen.Member) }
	}
	known, err := read(v)
	if err != nil {
		return nil, err
	}
	seen.population = *known
	if seen.Pool != "" {
		seen.Pools = slices.DeleteFunc(slices.Clone(seen.Pools), func(p overview.PoolSum) bool { return p.Pool != seen.Pool })
		seen.Nodes = slices.DeleteFunc(slices.Clone(seen.Nodes), func(n api.MemberNode) bool { return n.Spec.NodePool != seen.Pool })
	}
	if seen.Member == "" && seen.Pool != "" && len(seen.Pools) == 1 {
		seen.Members = seen.Pools[0].Populated()
		seen.Some, seen.Shown = windowOf(v, seen.Members, nodeWindow)
	}
	for i := range seen.Disruptions {
		into := &seen.Ended
		if seen.Disruptions[i].Status.Ended.IsZero() {
			into = &seen.Under
		}
		*into = append(*into, seen.Disruptions[i])
	}
	if seen.Member != "" {
		seen.Plan = &explain.MemberForecast{}
		if err := v.ask(api.VerbPlanNodes, api.PlanNodesRequest{Member: seen.Member}, seen.Plan); err != nil {
			seen.Plan, seen.Fault = nil, err.Error()
		}
		seen.Window, seen.Shown = windowOf(v, seen.Nodes, nodeWindow)
	}
	return seen, nil
}

// Typed is the command line that shows the same, of what is asked for.
func (n *nodesOf) Typed(words string, what ...string) string {
	what = slices.DeleteFunc(what, func(word string) bool { return word == "" })
	if n.Member != "" {
		what = append(what, "-m", n.Member)
	}
	return deed.Command(words, "", what...)
}

// More is when more nodes may go, as people read it.
func (s *scene) More(p overview.PoolSum) string {
	then := metav1.NewTime(p.MoreAt(s.visit.now()))
	if then.IsZero() {
		return ""
	}
	return s.At(then)[:len("2006-01-02 15:04")] + ", in " + s.Until(then)
}

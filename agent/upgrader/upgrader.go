package upgrader

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/bus/loop"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/subjects"
)

// Driver carries out operations on one kind of cluster. Both ways of following an operation call
// report, never at once, with Percent, Message and Pools while it runs. The result they return has an
// Outcome: Succeeded, Failed, or Blocked when nothing was changed; and where it applies Reason, Message
// and Pools. Known is false when nothing can be known any more of what became of the operation. Their
// error is that of ctx, whose end ends the following, not the operation.
type Driver interface {
	fmt.Stringer
	// Run carries out an operation that was never begun.
	Run(ctx context.Context, op api.UpgradeOperation, report func(api.UpgradeResult)) (result api.UpgradeResult, known bool, err error)
	// Resume follows an operation that an earlier process of the agent may have begun. It is not begun
	// a second time.
	Resume(ctx context.Context, op api.UpgradeOperation, report func(api.UpgradeResult)) (result api.UpgradeResult, known bool, err error)
	// Inventory is what the driver knows of the member that its API server does not say; fields it
	// leaves empty are filled from there.
	Inventory(ctx context.Context) (api.MemberInventory, error)
}

// Member is what the upgrader asks of the member; package target says what each promises.
type Member interface {
	Ready(ctx context.Context) error
	Version(ctx context.Context) (string, error)
	Nodes(ctx context.Context) ([]target.Node, error)
	Budgets(ctx context.Context) ([]target.Budget, error)
	Get(ctx context.Context, ref api.ObjectRef) (*unstructured.Unstructured, error)
	Watch(ctx context.Context) <-chan target.Change
}

// Options of an Upgrader. Member, Hub, Target, Driver and Data are needed.
type Options struct {
	Member string
	Hub    *member.Conn
	Target Member
	Driver Driver
	// Data is the agent's data directory; the upgrader keeps to its folder "upgrades".
	Data string
	// Facts are the parts of the inventory that only the configuration knows: region, cluster id,
	// windows, long term support.
	Facts  api.MemberInventory
	Checks Checks
	// Ours says why the cluster cannot be taken for the member, nil when it is; none is asked when it is nil.
	Ours func(ctx context.Context) error
	// PollEvery is how often the command is read without being hinted, as bus.PursuitOptions.Every.
	PollEvery time.Duration
	Log       zerolog.Logger
}

// operations is the one key of queues that have but one.
const operations = "operations"

// Upgrader carries out operations. Make it with New, run it once.
type Upgrader struct {
	o         Options
	ledger    *ledger
	reporter  *reporter
	inventory *inventory

	commands *member.Follower
	work     *loop.Queue // of the key operations

	mu      sync.Mutex
	trouble string
}

// New opens the folder of the data directory and goes on with what it finds there.
func New(o Options) (*Upgrader, error) {
	o.Checks.fill()
	l, err := openLedger(filepath.Join(o.Data, "upgrades"), o.Member)
	if err != nil {
		return nil, fmt.Errorf("%w; move the folder away only when no upgrade of member %s runs", err, o.Member)
	}
	u := &Upgrader{o: o, ledger: l, work: loop.New(loop.Options{Now: o.Hub.Now})}
	u.commands = member.NewFollower(member.FollowerOptions{Hub: o.Hub, Kind: subjects.CommandUpgrade, Every: o.PollEvery, Take: u.take, None: u.none})
	u.reporter = newReporter(o.Hub, o.Log)
	u.inventory = newInventory(&u.o, l)
	return u, nil
}

// Run works until ctx ends. An operation that runs then is left to its driver.
func (u *Upgrader) Run(ctx context.Context) error {
	defer u.o.Hub.OnConnect(func() { u.inventory.refresh(true) })()
	u.keepResults()
	u.work.Add(operations)
	var telling sync.WaitGroup
	defer telling.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer u.work.Start(ctx, u.execute)()
	defer u.reporter.queue.Start(ctx, u.reporter.put)()
	defer cancel()
	telling.Go(func() { u.inventory.run(ctx) })
	return u.commands.Run(ctx)
}

// Look reads the newest command again, soon.
func (u *Upgrader) Look() { u.commands.Look() }

// Trouble says why the hub's newest upgrade command is not followed, empty when it is.
func (u *Upgrader) Trouble() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.trouble
}

func (u *Upgrader) setTrouble(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.trouble = text
}

// Running is the id of the operation that was started and has no result yet, empty when there is none.
func (u *Upgrader) Running() string {
	if r, ok := u.ledger.started(); ok {
		return r.Operation.ID
	}
	return ""
}

// wake makes the reader of a channel of capacity 1 look once more, soon.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

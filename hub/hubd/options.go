package hubd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus"
	"flotilla/bus/disk"
	"flotilla/bus/server"
	"flotilla/bus/store"
	"flotilla/configs"
	"flotilla/configs/secrets"
	"flotilla/core/guard"
	"flotilla/hub/door"
	"flotilla/hub/enroller"
	"flotilla/subjects"
)

// Options of a Hub. Either Server or a broker reachable by Bus must be there.
type Options struct {
	// Fleet is the name of the fleet, "default" when empty.
	Fleet string
	// Name of this replica, which no other hub of the fleet may have: the lease is held under it. When
	// empty it is "hub-0" with an embedded server, else made of the host's name and a random part.
	Name string
	// Server, when set, is an embedded NATS server to run; Bus is then only about the connection's name.
	Server *server.Options
	// Bus says how to reach a broker that others run.
	Bus bus.Options
	// Lead tunes the competition for the lease; the zero value is for production.
	Lead store.LeadOptions
	Issuing
	Disk Disk
	// Secrets are what content is sealed with; when none are given those in the folder of an embedded server.
	Secrets secrets.Source
	Policy  Policy
	// Notifications to send; their variables are taken from the environment of the process.
	Notifications []configs.Notification
	// Metrics is the address for Prometheus, "127.0.0.1:9090"; empty: none. They name states, and
	// placements and members up to MostSeries of each.
	Metrics string
	Page    Page
	Front   Front
	Log     zerolog.Logger
	// Now is the clock that all of the hub goes by, the machine's when nil; it must go as fast.
	Now func() time.Time
}

// Issuing is who makes and revokes credentials on a broker that others run; an embedded server does for itself.
type Issuing struct {
	// Accounts is a folder of server.MakeAccounts, whose keys do. Empty: somebody else does.
	Accounts string
	// Issuer signs those of agents where there are no Accounts.
	Issuer enroller.Issuer
}

// Disk is the room that the hub needs where it stores, and for records in memory.
type Disk struct {
	// Reserve is below how many free bytes nothing more is accepted: of the file system of an embedded
	// server, or of what the account of the hub may store. 0: 256 MiB or a fiftieth of what there is,
	// whichever is less; negative: none. Of inodes the reserve is 1,000 or a fiftieth, and none where that of
	// bytes is none.
	Reserve int64
	// Records is how many bytes of memory all records may take, gauger.DefaultRecords when 0; negative: without limit.
	Records int64
	// Statfs looks how much room there is, that of the machine when nil.
	Statfs disk.Statfs
}

// Policy is what decisions about members go by, and which servers do.
type Policy struct {
	// StrictServers has the hub start with, and go on with, no server whose version breaks a promise; see flaws.
	StrictServers bool
	// DeleteTimeout bounds how long a deletion waits for members, door.DefaultDeleteTimeout when 0.
	DeleteTimeout time.Duration
	// Withdrawals bound what is taken away at once, guard.DefaultBounds when 0.
	Withdrawals guard.Bounds
	// MemberTimeout is after how long without a heartbeat a member is Unknown, 5 minutes when 0 (D21).
	MemberTimeout time.Duration
	// Grace is for how long states hold after heartbeats became readable again, the liveness default when
	// 0; it is to be longer than agents take to reconnect and beat.
	Grace time.Duration
	// SkippedNamespaces are never placed, beside those that Kubernetes and fleets reserve.
	SkippedNamespaces []string
	// Disruption is about the nodes of members; what configs has by default when zero.
	Disruption configs.Disruption
	// Checks are what rollout checks may ask; their variables are taken from the environment of the process.
	Checks configs.Checks
}

// DefaultMemberTimeout is the threshold of D21.
const DefaultMemberTimeout = 5 * time.Minute

func (o Options) withDefaults() Options {
	setDefault(&o.Fleet, subjects.DefaultFleet)
	if o.Server != nil {
		setDefault(&o.Name, "hub-0")
	}
	setDefault(&o.Name, uniqueName())
	if o.Now == nil {
		o.Now = o.Bus.Now
	}
	if o.Disk.Statfs == nil {
		o.Disk.Statfs = disk.FileSystem
	}
	if o.Page.New == nil {
		o.Page.New = newPage
	}
	setDefault(&o.Policy.DeleteTimeout, door.DefaultDeleteTimeout)
	setDefault(&o.Policy.MemberTimeout, DefaultMemberTimeout)
	setDefault(&o.Policy.Disruption, configs.DefaultHub().Disruption)
	return o
}

// uniqueName is a DNS label made of the host's name and a random part.
func uniqueName() string {
	host, err := os.Hostname()
	label, _, _ := strings.Cut(strings.ToLower(host), ".")
	if err != nil || len(label) > 40 || subjects.CheckLabel("hub", label) != nil {
		label = "hub"
	}
	return label + "-" + strings.ToLower(rand.Text()[:8])
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// check returns every option that is wrong.
func (o *Options) check() error {
	var wrong []error
	if err := subjects.CheckLabel("fleet", o.Fleet); err != nil {
		wrong = append(wrong, err)
	}
	if err := subjects.CheckLabel("hub", o.Name); err != nil {
		wrong = append(wrong, err)
	}
	for name, held := range map[string]time.Duration{
		"delete timeout": o.Policy.DeleteTimeout, "member timeout": o.Policy.MemberTimeout,
	} {
		if held < 0 {
			wrong = append(wrong, fmt.Errorf("%s: found %s, expected a positive duration", name, held))
		}
	}
	return errors.Join(slices.Concat(wrong, o.Page.check(), o.Front.check())...)
}

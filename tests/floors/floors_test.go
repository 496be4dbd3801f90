// Package floors checks that packages import only what their floor allows; docs/adr-001-floors.md
// gives the picture. It judges the direct, non-test imports of our packages.
package floors

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "flotilla"

type listed struct {
	ImportPath string
	Name       string
	Imports    []string
	Standard   bool
}

// rule says what packages under a prefix may import. The longest matching prefix wins.
type rule struct {
	under  string
	ours   []string // prefixes below the module that may be imported; with a $ at the end, that package alone
	others []string // module path prefixes of third parties
	denied []string // standard packages that may not be imported
	reason string
}

var impure = []string{"net", "os", "context", "math/rand", "math/rand/v2", "crypto/rand", "log", "log/slog", "time/tzdata"}

var speaksNATS = []string{"github.com/nats-io/nats.go", "github.com/nats-io/nkeys", "github.com/rs/zerolog"}

var kubernetesTypes = []string{"k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/yaml", "sigs.k8s.io/json"}

var rules = []rule{
	{"core/strict", nil, kubernetesTypes, impure, "text is read with all its faults, whatever it says"},
	{"core/phrase", nil, nil, impure, "sentences are alike whatever they are about"},
	{"core/api", []string{"core/strict"}, append([]string{"github.com/robfig/cron"}, kubernetesTypes...), impure, "objects and messages, whatever becomes of them"},
	{"core/verdict", []string{"core/api"}, nil, impure, "what became of members, whoever decided it"},
	{"core/seal", []string{"core/api"}, []string{"github.com/klauspost/compress/s2"}, impure, "what is sealed is decided here, and nothing else"},
	{"core/envelope", []string{"core/api"}, append([]string{"go.yaml.in/yaml"}, kubernetesTypes...), impure, "what lies in an envelope is found in one way, whoever looks"},
	{"core/validate/upgrades", []string{"core/api", "core/strict"}, kubernetesTypes, impure, "what a document around upgrades must be, whoever reads it"},
	{"core/validate/budgets", []string{"core/api", "core/strict"}, []string{"github.com/robfig/cron"}, impure, "budgets that cannot mean what was wanted, whoever is warned"},
	{"core/validate", []string{"core/api", "core/strict", "core/phrase", "core/envelope", "core/validate/upgrades", "core/validate/budgets"}, append([]string{"github.com/robfig/cron"}, kubernetesTypes...), impure, "a document is held to its kind's rules before anybody decides on it"},
	{"core/window", []string{"core/api", "core/validate"}, nil, impure, "calendars know no upgrade and no node"},
	{"core/content", []string{"core/api", "core/phrase", "core/strict", "core/seal", "core/envelope"}, kubernetesTypes, impure, "what a placement selects, wherever it goes"},
	{"core/render", []string{"core/api", "core/content", "core/seal", "core/strict", "core/validate"}, kubernetesTypes, impure, "what a member is given, whatever becomes of it there"},
	{"core/enrolment", []string{"core/api"}, kubernetesTypes, impure, "who may become a member, whatever is placed there"},
	{"core/fullness", []string{"core/api", "core/phrase"}, kubernetesTypes, impure, "how full a store is, and how whole, whatever it stores"},
	{"core/flaws", []string{"core/phrase"}, []string{"k8s.io/apimachinery/pkg/util/version"}, impure, "what versions of the server break, whoever runs them"},
	{"core/pace", nil, nil, impure, "how often something is done, whatever it is"},
	{"core/liveness", []string{"core/api", "core/strict", "core/validate", "core/enrolment", "core/pace"}, kubernetesTypes, impure, "a member lives or not, whatever is placed there"},
	{"core/schedule", []string{"core/api", "core/phrase", "core/strict", "core/verdict"}, kubernetesTypes, impure, "which members are picked knows no rollout"},
	{"core/guard", []string{"core/api", "core/phrase"}, kubernetesTypes, impure, "what stays as it is, whoever would change it"},
	{"core/rollout", []string{"core/api", "core/phrase", "core/guard"}, kubernetesTypes, impure, "when a change goes out, whoever picked the members"},
	{"core/check", []string{"core/api", "core/phrase", "core/rollout"}, kubernetesTypes, impure, "what has to hold while a change goes out, whoever is asked"},
	{"core/eviction", []string{"core/api", "core/phrase", "core/guard"}, kubernetesTypes, impure, "what a placement loses, whoever takes it away"},
	{"core/status", []string{"core/api", "core/pace", "core/phrase", "core/rollout"}, kubernetesTypes, impure, "what has come of a rollout"},
	{"core/rollup", []string{"core/api", "core/phrase", "core/guard", "core/content"}, kubernetesTypes, impure, "how an object does everywhere, whoever asks"},
	{"core/why", []string{"core/api", "core/strict", "core/verdict", "core/schedule"}, kubernetesTypes, impure, "a schedule is explained by what decided it"},
	{
		"core/apply",
		[]string{"core/api", "core/strict"},
		append([]string{"github.com/fluxcd/cli-utils/pkg/kstatus/status"}, kubernetesTypes...), impure,
		"what controllers have in common in what they say is read by the library for it",
	},
	{"core/version", []string{"core/api"}, nil, impure, "versions and images are compared whatever is upgraded to them"},
	{"core/stage", []string{"core/api", "core/phrase", "core/strict", "core/window"}, kubernetesTypes, impure, "how a run goes over members, whatever is done to them"},
	{"core/upgrade", []string{"core/api", "core/phrase", "core/guard", "core/validate", "core/window", "core/version", "core/stage"}, kubernetesTypes, impure, "runs know versions and windows, and no placement"},
	{"core/staged", []string{"core/api", "core/phrase", "core/guard", "core/strict", "core/window", "core/rollout", "core/stage"}, kubernetesTypes, impure, "staged runs know placements, and no versions"},
	{"core/trace", []string{"core/api", "core/phrase", "core/stage"}, kubernetesTypes, impure, "when a change came where, whoever brought it"},
	{"core/past", []string{"core/api"}, kubernetesTypes, impure, "what became of a placement, whoever decided it"},
	{"core/capacity", []string{"core/api", "core/strict", "core/validate", "core/window"}, append([]string{"github.com/robfig/cron"}, kubernetesTypes...), impure, "what nodes are made from knows no node"},
	{"core/cluster", []string{"core/api", "core/capacity"}, kubernetesTypes, impure, "nodes and pods as they are, whatever is decided of them"},
	{"core/simulate", []string{"core/api", "core/capacity", "core/cluster"}, kubernetesTypes, impure, "where pods go, whatever nodes are taken away for"},
	{"core/nodesync", []string{"core/api", "core/cluster", "core/simulate"}, kubernetesTypes, impure, "what an agent tells of its nodes, whoever sends it"},
	{"core/sim", []string{"core/api"}, kubernetesTypes, impure, "a fleet of a seed, for tests and benchmarks"},
	{"core/simulate/simulatetest", []string{"core/api", "core/strict", "core/capacity", "core/cluster", "core/simulate", "core/sim"}, kubernetesTypes, impure, "members for tests of decisions about nodes"},
	{"core/disruption", []string{"core/api", "core/phrase", "core/capacity", "core/cluster", "core/simulate"}, kubernetesTypes, impure, "decisions stand on what was simulated"},
	{"core/disruption/disruptiontest", []string{"core/disruption"}, nil, impure, "decisions told shortly, for tests"},
	{"core/orchestration", []string{"core/api", "core/phrase", "core/capacity", "core/cluster", "core/simulate", "core/disruption"}, kubernetesTypes, impure, "decisions are carried out, and not told"},
	{"core/explain", []string{"core/api", "core/phrase", "core/capacity", "core/cluster", "core/simulate", "core/disruption", "core/orchestration"}, kubernetesTypes, impure, "decisions are told, and nothing comes of it"},
	{
		"core/plan",
		[]string{"core/api", "core/phrase", "core/strict", "core/validate", "core/window", "core/verdict", "core/content", "core/seal", "core/schedule", "core/rollout", "core/version", "core/stage", "core/upgrade", "core/staged"},
		append([]string{"gopkg.in/evanphx/json-patch"}, kubernetesTypes...), impure,
		"a plan asks those who decide, and decides nothing",
	},
	{"core/whatif", []string{"core/api", "core/phrase", "core/strict", "core/validate", "core/verdict", "core/schedule", "core/why", "core/plan"}, kubernetesTypes, impure, "a fleet that is not there is decided on as one that is"},
	{"core/preview", []string{"core/api", "core/content", "core/render", "core/schedule", "core/seal", "core/strict", "core/validate"}, kubernetesTypes, impure, "what is shown of a member's work is what is made for it"},
	{"core/overview", []string{"core/api", "core/phrase", "core/strict", "core/version", "core/stage", "core/capacity", "core/disruption", "core/plan"}, kubernetesTypes, impure, "rows of a fleet are made of what others decided"},
	{"core/picture", []string{"core/api", "core/phrase", "core/window", "core/stage", "core/upgrade", "core/plan", "core/overview"}, kubernetesTypes, impure, "what is drawn is made of rows, and decides nothing"},
	{"core/deed", []string{"core/api", "core/phrase", "core/stage", "core/plan", "core/whatif", "core/overview"}, kubernetesTypes, impure, "what people agree to is told from answers, whoever asked for them"},
	{"core/overlay", nil, kubernetesTypes, impure, "what an apply leaves of an object, of whatever kind"},
	{"core/advice", []string{"core/api", "core/phrase", "core/strict", "core/validate", "core/content", "core/capacity", "core/disruption", "core/upgrade"}, kubernetesTypes, impure, "who reads advice has asked to change something, and is refused elsewhere"},
	{"core/health", []string{"core/api", "core/phrase", "core/enrolment", "core/liveness", "core/status", "core/stage", "core/disruption", "core/orchestration"}, kubernetesTypes, impure, "problems are made of what others decided"},
	{"subjects", []string{"core/api", "core/verdict"}, nil, nil, "the address book is read by every floor above"},
	{"configs", []string{"core/api", "core/strict", "core/validate", "configs/files"}, []string{"sigs.k8s.io/yaml", "go.yaml.in/yaml"}, nil, "configuration is text to values"},
	{"configs/private", nil, nil, []string{"net", "net/http"}, "who may read a secret is judged in one place, whatever it is of"},
	{"configs/files", nil, nil, []string{"net", "net/http"}, "what a path leads to is read with a bound, whoever named it"},
	{"configs/kubernetes", []string{"configs/kubernetes"}, []string{"sigs.k8s.io/yaml"}, nil, "manifests are text made of text"},
	{"configs/secrets", []string{"core/seal", "configs/private"}, nil, nil, "the file of secrets, for those who read it and those who make it"},
	{"configs/memory", []string{"core/api", "configs"}, []string{"github.com/rs/zerolog", "github.com/KimMachineGun/automemlimit"}, nil, "what a process keeps to is for its main to set"},
	{"configs/terminal", []string{"core/api", "core/strict", "configs"}, []string{"github.com/rs/zerolog", "github.com/spf13", "github.com/mattn/go-isatty"}, nil, "what the programs share where a person starts them"},
	{"bus/loop", nil, nil, nil, "a queue of keys knows nothing of what it queues"},
	{"bus/lines", []string{"core/pace"}, []string{"github.com/rs/zerolog"}, nil, "how much is logged, whoever causes it"},
	{"bus/said", nil, []string{"github.com/nats-io/nats.go"}, nil, "who sends a message, whatever it is"},
	{"bus/gate", nil, []string{"golang.org/x/time"}, nil, "how many are let in, whatever is served"},
	{"bus/places", []string{"core/api", "bus/loop"}, nil, nil, "how much one person asks at once is bounded, whatever they ask"},
	{"bus/probe", nil, nil, nil, "what is asked whether a process is ready knows nothing of what it asks"},
	{"bus/disk", []string{"core/api"}, []string{"golang.org/x/sys"}, nil, "how much room there is, whoever writes"},
	{"bus", []string{"subjects", "core/api", "core/seal", "configs/files", "configs/private", "bus/disk", "bus/lines", "bus/loop", "bus/places", "bus/said"}, append([]string{"github.com/nats-io/jwt", "github.com/klauspost/compress"}, speaksNATS...), nil, "only the bus speaks NATS"},
	{"bus/enrolments", []string{"subjects", "core/api", "bus$", "bus/loop", "bus/said"}, speaksNATS, nil, "who wants to be enrolled is heard, and not answered"},
	{"bus/streams", []string{"subjects", "core/api", "core/seal", "bus$", "bus/loop"}, speaksNATS, nil, "how streams are made knows nobody who follows them"},
	{"bus/reads", []string{"subjects", "core/api", "core/pace", "bus$", "bus/loop", "bus/said"}, speaksNATS, nil, "what agents read is answered whatever it holds"},
	{"bus/watch", []string{"subjects", "core/api", "bus$", "bus/lines", "bus/loop"}, speaksNATS, nil, "what is stored is followed whoever wrote it"},
	{"bus/census", []string{"subjects", "bus$", "bus/watch"}, nil, nil, "records are counted, whoever writes them down"},
	{"bus/acks", []string{"bus$"}, speaksNATS, nil, "what is published is acknowledged whoever stores it"},
	{"bus/store", []string{"subjects", "core/api", "core/seal", "bus$", "bus/acks", "bus/loop", "bus/streams", "bus/watch", "bus/census"}, append([]string{"github.com/nats-io/nuid", "k8s.io/apimachinery/pkg/apis/meta/v1"}, speaksNATS...), nil, "what a leader works with, whatever it decides"},
	{"bus/placed", []string{"subjects", "core/api", "bus/store", "bus/watch"}, nil, nil, "what is placed where, whoever asks"},
	{"bus/holds", []string{"subjects", "core/api", "bus/store"}, []string{"k8s.io/apimachinery/pkg/apis/meta/v1"}, nil, "who holds a member still, whatever is done to it"},
	{"bus/member", []string{"subjects", "core/api", "core/pace", "configs/private", "bus$", "bus/lines", "bus/loop"}, append([]string{"github.com/nats-io/jwt"}, speaksNATS...), nil, "an agent has nothing of what hubs store and follow"},
	{"bus/server", []string{"subjects", "core/api", "core/pace", "configs/private", "bus", "bus/loop"}, []string{"github.com/nats-io", "github.com/rs/zerolog", "golang.org/x/sys"}, nil, "only the server of a hub links NATS' own"},
	{"bus/bustest", []string{"subjects", "core/api", "core/content", "core/seal", "bus", "tests/elsewhen"}, []string{"github.com/nats-io", "github.com/rs/zerolog", "github.com/stretchr/testify", "go.uber.org/goleak"}, nil, "the bus for tests"},
	{"docs", nil, nil, nil, "text alone"},
	{"hub/flotilla/cli/clitest", []string{"core/api"}, []string{"github.com/stretchr/testify", "k8s.io", "sigs.k8s.io"}, nil, "what tests of the client share"},
	{"hub/flotilla/cli/session", []string{"core/api", "core/strict", "bus"}, []string{"github.com/spf13", "github.com/rs/zerolog", "golang.org/x/term", "k8s.io/apimachinery"}, nil, "a session knows no kind of objects"},
	{"hub/flotilla/cli/resource", []string{"core", "hub/flotilla/cli/session"}, []string{"github.com/spf13", "k8s.io"}, nil, "how objects are named and read, not how they are shown"},
	{"hub/flotilla/cli/show", []string{"core", "configs/files", "hub/flotilla/cli/session", "hub/flotilla/cli/resource"}, []string{"github.com/spf13", "k8s.io"}, nil, "how objects are shown, whichever command asks"},
	{"hub/flotilla/cli/offline", []string{"core", "configs", "hub/flotilla/schema", "hub/flotilla/cli/session", "hub/flotilla/cli/resource"}, []string{"github.com/spf13", "k8s.io", "sigs.k8s.io"}, nil, "files are read without a hub"},
	{"hub/flotilla/cli/nodes", clientShared, []string{"github.com/spf13", "k8s.io"}, nil, "commands about nodes need no other noun"},
	{"hub/flotilla/cli/run", clientShared, []string{"github.com/spf13", "k8s.io"}, nil, "commands about update runs need no other noun"},
	{"hub/flotilla/cli/hub", clientShared, []string{"github.com/spf13", "k8s.io"}, nil, "commands about the fleet need no other noun"},
	{"hub/flotilla/cli/placement", append(slices.Clip(clientShared), "hub/flotilla/cli/nodes"), []string{"github.com/spf13", "k8s.io", "sigs.k8s.io/yaml"}, nil, "why answers about placements and nodes"},
	{"hub/flotilla/cli/plan", append(slices.Clip(clientShared), "hub/flotilla/cli/nodes"), []string{"github.com/spf13", "k8s.io", "sigs.k8s.io", "github.com/aymanbagabas/go-udiff"}, nil, "a plan of files that hold Nodes is one of nodes"},
	{"hub/flotilla/cli/object", append(slices.Clip(clientShared), "subjects", "hub/flotilla/schema", "hub/flotilla/cli/nodes", "hub/flotilla/cli/placement"), []string{"github.com/spf13", "k8s.io", "sigs.k8s.io", "github.com/aymanbagabas/go-udiff"}, nil, "verbs show what is special about a kind"},
	{"hub/flotilla/cli/member", append(slices.Clip(clientShared), "hub/flotilla/cli/object"), []string{"github.com/spf13", "k8s.io"}, nil, "members are labelled as all objects are"},
	{"hub/flotilla", []string{"core", "subjects", "bus", "configs", "docs", "hub/flotilla"}, []string{"github.com/spf13", "k8s.io", "sigs.k8s.io", "github.com/rs/zerolog", "golang.org/x/term", "github.com/nats-io", "github.com/aymanbagabas/go-udiff"}, nil, "the client talks to the door, not to rooms"},
	{"hub/dev", []string{""}, []string{""}, nil, "a fleet in one process, for --dev, the demo and tests"},
	{"hub/hubd", []string{"core", "subjects", "bus", "configs", "hub"}, []string{"github.com/rs/zerolog", "github.com/prometheus"}, nil, "hubd wires the rooms"},
	{"hub/door", []string{"core", "subjects", "bus", "configs", "hub/door"}, []string{"github.com/rs/zerolog", "k8s.io/apimachinery", "k8s.io/api"}, nil, "the door is one room of several packages"},
	{"hub/disruptor", []string{"core", "subjects", "bus", "configs", "hub/disruptor"}, []string{"github.com/rs/zerolog", "github.com/prometheus", "k8s.io/apimachinery"}, nil, "what agents tell is kept apart from what is decided of it"},
	{"hub/disruptor/told", []string{"core/api", "core/cluster", "bus/watch"}, []string{"k8s.io/api"}, nil, "what agents tell, whatever is decided of it"},
	{"hub/outside", []string{"core/api", "configs"}, nil, nil, "how the hub speaks with what lies outside, whatever it says"},
	{"hub/notifier", []string{"core", "subjects", "bus", "configs", "hub/outside"}, []string{"github.com/rs/zerolog"}, nil, "what is told goes outside in the one way there is"},
	{"hub/checker", []string{"core", "subjects", "bus", "configs", "hub/outside"}, []string{"github.com/rs/zerolog"}, nil, "what is asked goes outside in the one way there is"},
	{"hub/page", []string{"bus/gate", "bus/loop", "core", "hub/page"}, []string{"github.com/rs/zerolog", "k8s.io/apimachinery"}, nil, "a page asks the door, and knows neither records nor servers"},
	{"hub/front/turns", nil, []string{"k8s.io/apimachinery"}, nil, "how much one person does at once, whatever it is"},
	{"hub/front/bounds", []string{"bus/gate", "core/strict", "hub/front/turns"}, []string{"k8s.io", "sigs.k8s.io/yaml"}, nil, "how much a request takes, whatever it is for"},
	{"hub/front/selected", nil, []string{"k8s.io/apimachinery"}, nil, "what a list has, whatever it is of"},
	{"hub/front/extent", nil, nil, nil, "how much an object is once it is written, whatever it says"},
	{"hub/front/shelf", []string{"bus/loop", "core/api", "hub/front/extent"}, []string{"k8s.io"}, nil, "what objects a kind has, whoever asks"},
	{"hub/front/shapes", []string{"hub/front/turns"}, []string{"k8s.io/apimachinery", "k8s.io/kube-openapi"}, nil, "documents in OpenAPI, whatever they say"},
	{"hub/front/forms", []string{"core/strict", "hub/front/extent"}, []string{"k8s.io"}, nil, "how objects are written, whatever they say"},
	{"hub/front", []string{"hub/front/bounds", "hub/front/extent", "hub/front/forms", "hub/front/selected", "hub/front/shapes", "hub/front/shelf", "hub/front/turns", "bus/gate", "bus/loop", "core/api", "core/strict", "core/validate"}, []string{"github.com/rs/zerolog", "k8s.io", "sigs.k8s.io", "gopkg.in/evanphx/json-patch.v4"}, nil, "the Kubernetes API asks the door, and knows neither records nor servers"},
	{"hub", []string{"core", "subjects", "bus", "configs"}, []string{"github.com/rs/zerolog", "github.com/prometheus", "k8s.io/apimachinery", "k8s.io/api"}, nil, "rooms meet in records, never by import"},
	{"agent/agentd", []string{"core", "subjects", "bus", "configs", "agent"}, []string{"github.com/rs/zerolog", "github.com/prometheus"}, nil, "agentd wires the rooms"},
	{"agent/exec", nil, nil, []string{"net", "net/http"}, "how commands of the configuration are run, whatever they are for"},
	{"bus/clientlog", []string{"bus/lines"}, []string{"github.com/rs/zerolog", "github.com/go-logr/logr", "k8s.io/klog"}, nil, "what the Kubernetes libraries say goes where all else is said"},
	{"agent/pod", nil, []string{"k8s.io/apimachinery", "k8s.io/api", "k8s.io/client-go"}, nil, "what an agent finds in its pod, whatever it is used for"},
	{"agent/target", []string{"core", "agent/target"}, []string{"k8s.io/apimachinery", "k8s.io/api", "k8s.io/client-go", "github.com/fluxcd/cli-utils"}, nil, "a target is a cluster and nothing else"},
	{"agent/target/memory", []string{"core", "agent/target", "agent/disk"}, []string{"k8s.io/apimachinery", "k8s.io/api"}, nil, "a member in memory may be kept on disk"},
	{"agent/management", []string{"core/api", "core/strict"}, []string{"k8s.io/apimachinery", "k8s.io/api", "k8s.io/client-go"}, nil, "the Cluster API objects of a member, whoever changes them"},
	{"agent/nodes/clusterapi", []string{"core/api", "core/phrase", "agent/management"}, []string{"k8s.io/apimachinery", "k8s.io/api", "k8s.io/client-go"}, nil, "a provider of machines by objects of a management cluster"},
	{"agent/upgrader/clusterapi", []string{"core/api", "core/version", "agent/management"}, []string{"k8s.io/apimachinery", "k8s.io/client-go"}, nil, "a driver of upgrades by objects of a management cluster"},
	{"agent/nodes/karpenter", []string{"core/api", "core/strict"}, []string{"k8s.io/apimachinery", "k8s.io/api", "k8s.io/client-go"}, nil, "a provider of machines by objects of a cluster"},
	{"agent/target/contract", []string{"core", "agent/target"}, []string{"k8s.io/apimachinery", "k8s.io/api", "sigs.k8s.io/yaml", "github.com/stretchr/testify"}, nil, "what every target must do, as tests"},
	{"agent/disk/disktest", []string{"agent/disk"}, []string{"github.com/stretchr/testify"}, nil, "what tests read of what agents remember"},
	{"agent/disk", []string{"core/api", "core/seal", "configs/private"}, []string{"github.com/fsnotify/fsnotify"}, []string{"net", "net/http"}, "how rooms of the agent remember, whatever they remember"},
	{"agent", []string{"core", "subjects", "bus", "configs", "agent/target", "agent/disk", "agent/exec"}, []string{"github.com/rs/zerolog", "github.com/prometheus", "k8s.io/apimachinery", "k8s.io/api"}, nil, "rooms meet in records, never by import"},
	{"tests/elsewhen", nil, nil, nil, "the clock of tests goes wherever there are tests"},
	{"tests", []string{""}, []string{""}, nil, "tests may meet everybody"},
}

// clientShared is what every folder of commands may use.
var clientShared = []string{
	"core", "configs", "hub/flotilla/cli/session", "hub/flotilla/cli/resource", "hub/flotilla/cli/show", "hub/flotilla/cli/offline",
}

// mains are the packages in which hub and agent meet; they may import anything below.
var mains = map[string]bool{module + "/hub": true, module + "/agent": true, module + "/hub/flotilla": true}

func TestImportsStayOnTheirFloor(t *testing.T) {
	packages := list(t)
	require.NotEmpty(t, packages)
	for _, p := range packages {
		for _, fault := range judge(p) {
			t.Error(fault)
		}
	}
}

// Packages of the core import downwards only: each stands below those it may import.
func TestTheCoreIsAStair(t *testing.T) {
	var above []string
	for _, r := range rules {
		if !under(r.under, "core") {
			continue
		}
		for _, ours := range r.ours {
			require.Contains(t, above, ours, "%s may import %s, which does not stand above it in the table", r.under, ours)
		}
		above = append(above, r.under)
	}
	require.NotEmpty(t, above)
}

func TestJudgeRefusesWhatItShould(t *testing.T) {
	for _, wrong := range []listed{
		{ImportPath: "flotilla/core/schedule", Imports: []string{"context"}},
		{ImportPath: "flotilla/core/schedule", Imports: []string{"flotilla/bus"}},
		{ImportPath: "flotilla/core/api", Imports: []string{"flotilla/core/schedule"}},
		{ImportPath: "flotilla/core/schedule", Imports: []string{"flotilla/core/rollout"}},
		{ImportPath: "flotilla/core/new", Imports: []string{"fmt"}},
		{ImportPath: "flotilla/hub/door", Imports: []string{"flotilla/hub/scheduler"}},
		{ImportPath: "flotilla/hub/door", Imports: []string{"github.com/nats-io/nats.go"}},
		{ImportPath: "flotilla/agent/worker", Imports: []string{"flotilla/hub/door"}},
		{ImportPath: "flotilla/bus/loop", Imports: []string{"github.com/rs/zerolog"}},
		{ImportPath: "flotilla/bus", Imports: []string{"github.com/nats-io/nats-server/v2/server"}},
		{ImportPath: "flotilla/bus", Imports: []string{"flotilla/bus/store"}},
		{ImportPath: "flotilla/bus/member", Imports: []string{"flotilla/bus/store"}},
		{ImportPath: "flotilla/elsewhere", Imports: []string{"fmt"}},
	} {
		require.NotEmpty(t, judge(wrong), "%s importing %v", wrong.ImportPath, wrong.Imports)
	}
}

func list(t *testing.T) []listed {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,Imports,Standard", module+"/...")
	out, err := command.Output()
	require.NoError(t, err)
	var packages []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else {
			require.NoError(t, err)
		}
		packages = append(packages, p)
	}
}

func judge(p listed) []string {
	if mains[p.ImportPath] {
		return nil
	}
	r := ruleOf(strings.TrimPrefix(p.ImportPath, module+"/"))
	if r == nil {
		return []string{p.ImportPath + " has no floor: add a rule with its reason"}
	}
	var faults []string
	for _, imported := range p.Imports {
		if !r.allows(imported) {
			faults = append(faults, p.ImportPath+" may not import "+imported+": "+r.reason)
		}
	}
	return faults
}

func ruleOf(path string) *rule {
	var best *rule
	for i := range rules {
		if under(path, rules[i].under) && (best == nil || len(rules[i].under) > len(best.under)) {
			best = &rules[i]
		}
	}
	return best
}

func (r *rule) allows(imported string) bool {
	if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
		return anyUnder(ours, r.ours)
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return !anyUnder(imported, r.denied)
	}
	return anyUnder(imported, r.others)
}

func anyUnder(path string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if exact, alone := strings.CutSuffix(prefix, "$"); alone && path == exact || !alone && under(path, prefix) {
			return true
		}
	}
	return false
}

func under(path, prefix string) bool {
	return prefix == "" || path == prefix || strings.HasPrefix(path, prefix+"/")
}

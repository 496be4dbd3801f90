package page_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/why"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/hub/page"
	"flotilla/tests/elsewhen"
)

const (
	listedShop = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`
	listedWeb  = `
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: web}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy:
    placementType: PickAll
    affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{labelSelector: {matchLabels: {region: eu}}}]}}}`
	listedFar = `{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: far-%03d, labels: {tier: %s}}}`
)

// listsHouse is a fleet of three members, and of a hundred that were never heard of, and its page.
type listsHouse struct {
	t     *testing.T
	fleet *dev.Fleet
	page  http.Handler
}

func openLists(t *testing.T) *listsHouse {
	t.Helper()
	h := &listsHouse{t: t}
	var members []configs.Agent
	for name, region := range map[string]string{"berlin": "eu", "oslo": "eu", "tampa": "us"} {
		m := configs.DefaultAgent()
		m.Member, m.Labels = name, map[string]string{"region": region}
		m.Target.Memory.KubernetesVersion, m.Target.Memory.Nodes = "v1.33.1", []configs.Nodes{{Name: name, Count: 2, CPU: "8", Memory: "16Gi"}}
		members = append(members, m)
	}
	fleet, err := dev.Start(bustest.Context(t), dev.Options{
		Hub: hubd.Options{
			Now: elsewhen.Now, Server: &server.Options{Dir: t.TempDir(), Port: -1, Log: zerolog.Nop()}, Log: zerolog.Nop(),
			Page: hubd.Page{Site: hubd.Site{Address: "127.0.0.1:0"}, Guest: true, New: func(o hubd.PageOptions) (http.Handler, error) {
				made, err := page.New(page.Options{Door: o.Door, Fleet: o.Fleet, Replica: o.Replica, Hosts: o.Hosts, Guest: o.Guest, Now: o.Now, Log: o.Log})
				h.page = made
				return made, err
			}},
		},
		Members: members, Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	h.fleet = fleet
	for _, m := range members {
		bustest.Eventually(t, func() error {
			return bus.Request(bustest.Context(t), fleet.Client, api.VerbAdmit, api.AdmitRequest{Request: "admit-" + m.Member, Name: m.Member, AllowLabels: []string{"region"}}, nil, bus.RequestOptions{})
		})
	}
	documents := []string{listedShop, listedWeb}
	for i := range 100 {
		documents = append(documents, fmt.Sprintf(listedFar, i, []string{"edge", "core"}[i%2]))
	}
	h.apply(documents...)
	h.eventually("/placements/web", "2 available")
	h.eventually("/placements/web", "Not picked 101") // all members are decided about
	h.eventually("/members?state=Ready", "rows 1 to 3 of 3")
	return h
}

func (h *listsHouse) apply(texts ...string) {
	h.t.Helper()
	request := api.ApplyRequest{}
	for _, text := range texts {
		body, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(h.t, err)
		request.Documents = append(request.Documents, body)
	}
	h.ask(api.VerbApply, &request, nil)
}

func (h *listsHouse) ask(verb string, question, answer any) {
	h.t.Helper()
	require.NoError(h.t, bus.Request(bustest.Context(h.t), h.fleet.Client, verb, question, answer, bus.RequestOptions{}))
}

// fetch is what a browser gets as a guest.
func (h *listsHouse) fetch(at string) (int, string) {
	h.t.Helper()
	return fetchAs(h.t, http.DefaultClient, h.fleet.Hub.Page()+at)
}

func fetchAs(t *testing.T, client *http.Client, at string) (int, string) {
	t.Helper()
	answer, err := client.Get(at)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

// shows requires what a screen holds, and what it does not, which begins with "!".
func (h *listsHouse) shows(at string, texts ...string) {
	h.t.Helper()
	code, body := h.fetch(at)
	require.Equal(h.t, http.StatusOK, code, body)
	holds(h.t, body, texts...)
}

func holds(t *testing.T, body string, texts ...string) {
	t.Helper()
	_, body, _ = strings.Cut(body, "<main")
	for _, text := range texts {
		if text, not := strings.CutPrefix(text, "!"); not {
			require.NotContains(t, body, text)
			continue
		}
		require.Contains(t, body, text)
	}
}

func (h *listsHouse) eventually(at, text string) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		if _, body := h.fetch(at); !strings.Contains(body, text) {
			return fmt.Errorf("%s does not say %q", at, text)
		}
		return nil
	})
}

// admin is a browser with a session of an admin.
func (h *listsHouse) admin() *http.Client {
	h.t.Helper()
	link, err := h.fleet.Hub.Link(bustest.Context(h.t), api.Caller{Name: "operator", Role: api.RoleAdmin}, time.Minute)
	require.NoError(h.t, err)
	jar, err := cookiejar.New(nil)
	require.NoError(h.t, err)
	client := &http.Client{Jar: jar}
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.fleet.Hub.Page()+"/enter", strings.NewReader(url.Values{"link": {link.Secret}}.Encode()))
	require.NoError(h.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := client.Do(request)
	require.NoError(h.t, err)
	require.NoError(h.t, answer.Body.Close())
	return client
}

func TestListsOfAFleet(t *testing.T) {
	h := openLists(t)
	for name, test := range map[string]func(*listsHouse){
		"members": (*listsHouse).testMembers, "exports": (*listsHouse).testExports, "a member": (*listsHouse).testMember,
		"placements": (*listsHouse).testPlacements, "why": (*listsHouse).testWhy,
	} {
		t.Run(name, func(t *testing.T) { test(&listsHouse{t, h.fleet, h.page}) })
	}
	for name, test := range map[string]func(*listsHouse){
		"a screen that fails": (*listsHouse).testFailed, "what a browser has": (*listsHouse).testKnown, "a quiet fleet": (*listsHouse).testQuiet,
		"a slow reader": (*listsHouse).testSlow,
	} {
		t.Run(name, func(t *testing.T) { test(&listsHouse{t, h.fleet, h.page}) })
	}
	t.Run("steered", func(t *testing.T) { (&listsHouse{t, h.fleet, h.page}).testSteered() })
}

func (h *listsHouse) testMembers() {
	h.shows("/members", `<tr id="m-berlin" aria-rowindex="2">`, "rows 1 to 80 of 103", `href="/members?from=80" rel="next"`, "!rel=\"prev\"", `aria-sort="ascending"`,
		`data-window="0" data-size="80" data-total="103"`, `href="/members?q=state%3DReady"`, `href="/members?q=label%3Atier%3Dedge"`)
	h.shows("/members?sort=-name&from=80", "rows 81 to 103 of 103", `aria-sort="descending"`, `href="/members?from=0&amp;sort=-name" rel="prev"`, `id="m-berlin"`, `!id="m-far-099"`)
	h.shows("/members?sort=-state&q=state%3DReady", "rows 1 to 3 of 3", `aria-label="Well"`, `aria-current="true"`, "!far-")
	h.shows("/members?state=Joining", "rows 1 to 80 of 100", "never heard of", `!aria-label="Well"`)
	h.shows("/members?q=region%3Deu&by=region", `id="m-oslo"`, "!tampa", `<th scope="col">region</th>`)
	h.shows("/members?q=nowhere&sort=name", "No member matches.", `<a href="/members?sort=name">Show all members</a>`)
	h.shows("/members?q=x+tier%3Dgold", `column 3: field &#34;tier&#34;: expected one of name,`, `!id="m-`)
	h.shows("/members?sort=size", `&#34;size&#34;: expected one of name, state`)
	h.shows("/members?q=%3Cb%3E%22", "!<b>", "&lt;b&gt;", "that nothing closes")
}

func (h *listsHouse) testExports() {
	_, body := h.fetch("/members.json?q=!far&sort=-name")
	var exported struct {
		Kind  string
		Items []api.MemberCluster
	}
	require.NoError(h.t, json.Unmarshal([]byte(body), &exported))
	require.Equal(h.t, "List", exported.Kind)
	for i, name := range []string{"tampa", "oslo", "berlin"} {
		var read api.MemberCluster
		h.ask(api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: name}, &read)
		shown := exported.Items[i]
		shown.Status.AgentStatus, read.Status.AgentStatus = nil, nil // when it was heard of goes on
		require.Equal(h.t, read.Spec, shown.Spec)
		require.Equal(h.t, read.ObjectMeta, shown.ObjectMeta)
		require.Equal(h.t, []any{read.Status.State, read.Status.Labels, read.Status.Placed, read.Status.KubernetesVersion}, []any{shown.Status.State, shown.Status.Labels, shown.Status.Placed, shown.Status.KubernetesVersion})
	}
	rows := func(at string) [][]string {
		_, body := h.fetch(at)
		rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		require.NoError(h.t, err)
		return rows
	}
	members := rows("/members.csv")
	require.Len(h.t, members, 104)
	require.Equal(h.t, []string{"name", "state", "message"}, members[0][:3])
	require.Equal(h.t, []string{"berlin", "Ready"}, members[1][:2])
	require.Equal(h.t, []string{"web", "PickAll", "1", "1", "Available", "all", "2"}, rows("/placements.csv")[1][:7])
	require.Equal(h.t, []string{"berlin", "1", "Available"}, rows("/placements/web?as=csv")[1][:3])
	_, body = h.fetch("/placements.json")
	var placements struct{ Items []api.Placement }
	require.NoError(h.t, json.Unmarshal([]byte(body), &placements))
	require.Len(h.t, placements.Items[0].Status.PlacementStatuses, 2)
	_, body = h.fetch("/index.svg")
	require.Greater(h.t, drawnWell(h.t, body), 4)
	require.Equal(h.t, 1, strings.Count(body, "xmlns="), "it is one picture of all groups")
	holds(h.t, "<main"+body, `class="waiting" fill="#6e5ab0"`, `>eu: 2 Well`, "!<ul")
}

func (h *listsHouse) testMember() {
	h.shows("/members/berlin", "<strong>Ready</strong>", `href="/members" data-up`, `href="/placements/web?member=berlin"`, "Available", "region=eu", "Kubernetes v1.33.1",
		`href="/nodes?member=berlin"`, "flotilla describe member berlin", "flotilla events --member berlin", "!/do/")
	h.shows("/members/far-001", "never heard of", "None is to be there.")
	code, body := h.fetch("/members/nobody")
	require.Equal(h.t, http.StatusNotFound, code)
	holds(h.t, body, "MemberCluster/nobody", "flotilla get members")
	_, body = fetchAs(h.t, h.admin(), h.fleet.Hub.Page()+"/members/berlin")
	holds(h.t, body, `href="/do/cordon?back=%2Fmembers%2Fberlin&amp;object=member%2Fberlin"`, `href="/do/drain?`, `href="/do/revoke?`, "!/do/uncordon", "!/do/admit")
}

func (h *listsHouse) testPlacements() {
	h.shows("/placements", `data-grid`, `<th scope="col">eu</th>`, `class="well">2/2</td>`, `href="/placements/web?by=region"`, "rows 1 to 1 of 1")
	h.shows("/placements?by=name", `class="well">1/1</td>`)
	h.shows("/placements?q=!web", "No placement matches.")
	h.shows("/placements/web", "PickAll, wants all", "2 picked", "Not picked 101", `href="/placements/web?filter=affinity#members"`, `href="/placements/web?group=eu"`, `id="m-berlin"`,
		"flotilla rollout history placement/web", "1 object", "!/do/")
	h.eventually("/placements/web", "SnapshotCut")
	h.shows("/placements/web?group=us", "None.", "All groups")
	code, body := h.fetch("/placements/shop/web")
	require.Equal(h.t, http.StatusNotFound, code)
	holds(h.t, body, "ResourcePlacement")
}

func (h *listsHouse) testWhy() {
	var answers []why.Answer
	h.ask(api.VerbWhy, api.WhyRequest{Placement: "web", Member: "tampa"}, &answers)
	h.shows("/placements/web?member=tampa", "not picked (affinity)", "is &#34;us&#34;", answers[0].Flip.Text, "flotilla why placement/web --member tampa", "<strong class=\"bad\">✖ no</strong>")
	h.shows("/placements/web?member=berlin", "<strong>picked</strong>")
	h.shows("/placements/web?member=nobody", "nobody")
	h.shows("/placements/web?filter=affinity&from=80", "rows 81 to 101 of 101", `id="m-tampa"`, "Members not picked: affinity", "wanted")
}

func (h *listsHouse) testSteered() {
	h.ask(api.VerbRolloutPause, api.RolloutRequest{Request: "pause", Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "web"}, Reason: "<b>odd</b>"}, nil)
	h.eventually("/placements/web", "‖ paused by")
	h.shows("/placements/web", "&lt;b&gt;odd&lt;/b&gt;", "!<b>odd")
	h.eventually("/placements", `<strong class="waiting">paused</strong>`)
	_, body := fetchAs(h.t, h.admin(), h.fleet.Hub.Page()+"/placements/web")
	holds(h.t, body, `href="/do/resume?back=%2Fplacements%2Fweb&amp;object=placement%2Fweb"`, `href="/do/undo?`, "!/do/pause")
	h.ask(api.VerbFreeze, api.FreezeRequest{Request: "freeze", Scope: api.FreezePlacements, Reason: "holidays"}, nil)
	h.eventually("/placements/web", "Frozen: ")
	h.eventually("/placements", `<strong class="bad">frozen</strong>`)
}

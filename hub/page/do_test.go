package page_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
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
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/hub/page"
	"flotilla/tests/elsewhen"
)

const (
	actShop = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`
	actCart = `{apiVersion: v1, kind: Namespace, metadata: {name: cart, labels: {app: %q}}}`
	actWeb  = `
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: web}
spec:
  revisionHistoryLimit: %d
  resourceSelectors:
  - {group: "", version: v1, kind: Namespace, name: shop}
  - {group: "", version: v1, kind: Namespace, name: cart}
  policy: {placementType: PickAll, affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{labelSelector: {matchLabels: {live: "yes"}}}]}}}}`
	actRun = `
apiVersion: flotilla.io/v1alpha1
kind: UpdateRun
metadata: {name: spring}
spec:
  strategy:
    stages:
    - name: all
      beforeGates: [{type: Approval, displayName: owners}]
      memberSelector: {byLabel: live=yes}
  upgrade: {type: ControlPlaneOnly, kubernetesVersion: 1.34.1}`
	actPool = `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: workers}, spec: {disruption: {budgets: [{nodes: "0"}]}, template: {spec: {requirements: [], nodeClassRef: {group: g, kind: K, name: c}}}}}`
	actFar  = `{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: far-%03d}}`
)

// asked is a door that notes what it is asked.
type asked struct {
	page.Door
	mu      sync.Mutex
	all     []string
	meddles func() // does something before the next change, once
}

func (a *asked) Ask(ctx context.Context, by api.Caller, verb string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.all = append(a.all, verb+" "+string(body))
	meddles := a.meddles
	if changes(verb, string(body)) {
		a.meddles = nil
	}
	a.mu.Unlock()
	if meddles != nil && changes(verb, string(body)) {
		meddles()
	}
	return a.Door.Ask(ctx, by, verb, question, answer)
}

// meddle has something done before the next change.
func (a *asked) meddle(does func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.meddles = does
}

// changes says of a question that it could change something.
func changes(verb, body string) bool {
	return api.NeededFor(verb) != api.RoleViewer && !strings.Contains(body, `"dryRun":true`)
}

// changes are the questions since the last call that could change something.
func (a *asked) changes() (changing []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, question := range a.all {
		verb, body, _ := strings.Cut(question, " ")
		if changes(verb, body) {
			changing = append(changing, question)
		}
	}
	a.all = nil
	return changing
}

// acting is a fleet of two live members, one that joins and thirty that were never heard of, with people who look at it.
type acting struct {
	t        *testing.T
	fleet    *dev.Fleet
	door     *asked
	page     http.Handler
	guests   http.Handler      // the page where guests may look
	sessions map[string]string // by name of the person
}

func startActing(t *testing.T) *acting {
	t.Helper()
	h := &acting{t: t, sessions: map[string]string{}}
	var members []configs.Agent
	for _, name := range []string{"berlin", "oslo", "riga"} {
		m := configs.DefaultAgent()
		m.Member, m.Labels = name, map[string]string{"live": "yes"}
		m.Target.Memory.KubernetesVersion, m.Target.Memory.Nodes = "v1.33.1", []configs.Nodes{{Name: name, Count: 3, CPU: "8", Memory: "16Gi"}}
		if name == "oslo" {
			m.Target.Memory.Nodes[0].NodePool = "workers"
		}
		members = append(members, m)
	}
	o := hubd.Options{Server: &server.Options{Dir: t.TempDir(), Port: -1}, Log: zerolog.Nop(), Now: elsewhen.Now, Page: hubd.Page{Site: hubd.Site{Address: "127.0.0.1:0"}}}
	o.Page.New = func(made hubd.PageOptions) (http.Handler, error) {
		h.door = &asked{Door: made.Door}
		var err error
		h.page, err = page.New(page.Options{Door: h.door, Fleet: made.Fleet, Replica: made.Replica, Now: made.Now, Log: made.Log})
		return h.page, err
	}
	var err error
	h.fleet, err = dev.Start(bustest.Context(t), dev.Options{Hub: o, Members: members, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.fleet.Stop()) })
	for name, role := range map[string]api.Role{"vera": api.RoleViewer, "olga": api.RoleOperator, "anna": api.RoleAdmin} {
		link, err := h.fleet.Hub.Link(bustest.Context(t), api.Caller{Name: name, Role: role}, time.Hour)
		require.NoError(t, err)
		h.sessions[name], err = h.door.Enter(bustest.Context(t), link.Secret, "127.0.0.1")
		require.NoError(t, err)
	}
	for _, name := range []string{"berlin", "oslo"} {
		bustest.Eventually(t, func() error {
			return h.ask(api.VerbAdmit, api.AdmitRequest{Request: name, Name: name, AllowLabels: []string{"live"}}, nil)
		})
	}
	documents := []string{actShop, fmt.Sprintf(actCart, "one"), fmt.Sprintf(actWeb, 10), actPool}
	for i := range 30 {
		documents = append(documents, fmt.Sprintf(actFar, i))
	}
	h.apply(documents...)
	h.settled(2)
	h.apply(actRun)
	bustest.Eventually(t, func() error { // the runner has taken it up, and the page shows it
		return h.holds("anna", "/activity", "run not started", "member/riga")
	})
	return h
}

func (h *acting) ask(verb string, question, answer any) error {
	return bus.Request(bustest.Context(h.t), h.fleet.Client, verb, question, answer, bus.RequestOptions{})
}

func (h *acting) apply(texts ...string) {
	h.t.Helper()
	request := api.ApplyRequest{}
	for _, text := range texts {
		body, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(h.t, err)
		request.Documents = append(request.Documents, body)
	}
	require.NoError(h.t, h.ask(api.VerbApply, &request, nil))
}

func (h *acting) placement() *api.Placement {
	h.t.Helper()
	p := &api.Placement{}
	require.NoError(h.t, h.ask(api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "web"}, p))
	return p
}

// settled waits until so many members hold the placement as it is.
func (h *acting) settled(members int) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		p := h.placement()
		if s := p.Status; s == nil || s.ObservedGeneration != p.Generation || s.Counts.Current != members || s.Counts.Available != members {
			return fmt.Errorf("status %+v", p.Status)
		}
		return nil
	})
}

func (h *acting) send(r *http.Request, person string) *httptest.ResponseRecorder {
	r.RemoteAddr = "127.0.0.1:9999"
	if session := h.sessions[person]; session != "" {
		r.AddCookie(&http.Cookie{Name: "flotilla-8480", Value: session})
	}
	w := httptest.NewRecorder()
	h.page.ServeHTTP(w, r)
	return w
}

func (h *acting) get(person, at string) *httptest.ResponseRecorder {
	return h.send(httptest.NewRequestWithContext(bustest.Context(h.t), http.MethodGet, "http://localhost:8480"+at, http.NoBody), person)
}

func (h *acting) holds(person, at string, texts ...string) error {
	w := h.get(person, at)
	for _, text := range texts {
		if !strings.Contains(said(w.Body.String()), text) {
			return fmt.Errorf("%d, and %q is not in %s", w.Code, text, said(w.Body.String()))
		}
	}
	return nil
}

var (
	agreement = regexp.MustCompile(`(?s)<form method="post" action="(/do/[^"]*)".*?</form>`)
	hidden    = regexp.MustCompile(`(?s)type="hidden" name="([^"]*)" value="([^"]*)"`)
)

// form is what a browser would send from the page of an action; nil where there is nothing to agree to.
func (h *acting) form(person, at string) (to string, fields url.Values, text string) {
	h.t.Helper()
	body := h.get(person, at).Body.String()
	found := agreement.FindStringSubmatch(body)
	if found == nil {
		return "", nil, said(body)
	}
	fields = url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(found[0], -1) {
		fields.Add(field[1], html.UnescapeString(field[2]))
	}
	return found[1], fields, said(body)
}

func (h *acting) post(person, to string, fields url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(bustest.Context(h.t), http.MethodPost, "http://localhost:8480"+to, strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return h.send(r, person)
}

// does looks at an action, agrees to it, and returns what the page says then.
func (h *acting) does(person, at string, more ...string) string {
	h.t.Helper()
	to, fields, text := h.form(person, at)
	require.NotNil(h.t, fields, text)
	for i := 0; i+1 < len(more); i += 2 {
		fields.Set(more[i], more[i+1])
	}
	w := h.post(person, to, fields)
	require.Equal(h.t, http.StatusSeeOther, w.Code, said(w.Body.String()))
	return said(h.get(person, w.Header().Get("Location")).Body.String())
}

// events are those of an object that somebody caused, once there are as many as wanted.
func (h *acting) events(object, by, reason string, want int) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		var answer api.EventsResponse
		if err := h.ask(api.VerbEvents, api.EventsRequest{Object: object, By: by}, &answer); err != nil {
			return err
		}
		n := 0
		for i := range answer.Events {
			if answer.Events[i].Reason == reason {
				n++
			}
		}
		if n != want {
			return fmt.Errorf("%d events %s of %s by %s, want %d: %+v", n, reason, object, by, want, answer.Events)
		}
		return nil
	})
}

func TestActions(t *testing.T) {
	h := startActing(t)
	for _, scenario := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"who has what done, and from where", h.table},
		{"what a page has opens no other door", h.strangers},
		{"a rollout is paused once", h.once},
		{"what changed since is not done", h.changed},
		{"of two at once one is told of the other", h.raced},
		{"nothing is done without the look", h.unseen},
		{"many members have to be counted", h.counted},
		{"names are no commands", h.hostile},
		{"changes come from the hub's own pages", h.leaving},
		{"links want a button pressed where others open them", h.links},
		{"over TLS the session is of this page alone", h.secure},
		{"connections belong to people", h.connections},
		{"a rollout goes back, and on", h.undone},
		{"a run starts, is approved, skips and stops", h.runs},
		{"members are cordoned, drained, admitted and revoked", h.members},
		{"what waits, and who did what", h.activity},
		{"nodes", h.nodes},
		{"many events", h.flooded},
	} {
		t.Run(scenario.name, func(t *testing.T) {
			outer := h.t
			h.t = t
			defer func() { h.t = outer }()
			scenario.run(t)
		})
	}
}

func (h *acting) once(t *testing.T) {
	to, fields, text := h.form("olga", "/do/pause?object=placement/web&back=/activity%3Fmine%3D1")
	require.Contains(t, text, "placement/web would be paused")
	require.Contains(t, text, "flotilla rollout pause placement/web --reason")
	require.Contains(t, text, "olga")
	fields.Set("reason", `errors in <b>eu</b>`)
	answers := make([]*httptest.ResponseRecorder, 4)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = h.post("olga", to, fields) })
	}
	all.Wait()
	for _, w := range answers {
		require.Equal(t, http.StatusSeeOther, w.Code, said(w.Body.String()))
		require.Equal(t, answers[0].Header().Get("Location"), w.Header().Get("Location"))
	}
	done := h.get("olga", answers[0].Header().Get("Location")).Body.String()
	require.Contains(t, said(done), "placement/web: paused.")
	require.Contains(t, done, `href="/activity?mine=1"`)
	require.NotContains(t, done, "<b>eu</b>")
	h.events("placement/web", "olga", "RolloutPaused", 1)
	require.Equal(t, "errors in <b>eu</b>", api.PauseOf(h.placement().Annotations).Reason)
	require.Len(t, h.door.changes(), 1, "it was asked for once")
	require.Equal(t, http.StatusNotFound, h.get("anna", answers[0].Header().Get("Location")).Code, "what others did is theirs")

	fields.Set("request", "another")
	again := h.post("olga", to, fields)
	require.Equal(t, http.StatusConflict, again.Code)
	require.Contains(t, said(again.Body.String()), "paused by olga")
}

func (h *acting) changed(t *testing.T) {
	to, fields, _ := h.form("olga", "/do/resume?object=placement/web")
	h.apply(fmt.Sprintf(actWeb, 9))
	h.door.changes()
	w := h.post("olga", to, fields)
	text := said(w.Body.String())
	require.Equal(t, http.StatusConflict, w.Code, text)
	require.Contains(t, text, "nothing was done: it changed since you looked")
	require.Regexp(t, `was .*generation 1,.* is now .*generation 2`, text)
	require.NotNil(t, agreement.FindStringSubmatch(w.Body.String()), "the plan is there anew")
	require.Empty(t, h.door.changes())
	require.NotNil(t, api.PauseOf(h.placement().Annotations), "nothing was done")
	require.Contains(t, h.does("olga", "/do/resume?object=placement/web"), "placement/web: resumed.")
}

// raced has somebody else act after the page has looked for the last time, and before the door hears of it.
func (h *acting) raced(t *testing.T) {
	web := api.ObjectRef{APIVersion: api.GroupPlacement + "/v1", Kind: api.KindClusterResourcePlacement, Name: "web"}
	for _, c := range []struct {
		at, verb string
		other    any
		says     string
	}{
		{"/do/freeze?object=member/oslo", api.VerbFreeze, api.FreezeRequest{Request: "f", Scope: api.FreezeOf("oslo"), Reason: "other"}, "member oslo is so already"},
		{"/do/unfreeze?object=member/oslo", api.VerbUnfreeze, api.FreezeRequest{Request: "u", Scope: api.FreezeOf("oslo")}, "is so already"},
		{"/do/pause?object=placement/web", api.VerbRolloutPause, api.RolloutRequest{Request: "p", Object: web}, "paused by admin"},
		{"/do/resume?object=placement/web", api.VerbRolloutResume, api.RolloutRequest{Request: "r", Object: web}, "neither paused nor pinned"},
		{"/do/cordon?object=member/oslo", api.VerbPatch, h.taints(t, "oslo", api.Taint{Key: "gpu", Value: "yes", Effect: api.EffectNoSchedule}), "generation 2"},
	} {
		to, fields, text := h.form("anna", c.at)
		require.NotNil(t, fields, text)
		fields.Set("reason", "sale")
		h.door.meddle(func() { require.NoError(t, h.ask(c.verb, c.other, nil)) })
		w := h.post("anna", to, fields)
		require.Equal(t, http.StatusConflict, w.Code, c.at)
		require.Contains(t, said(w.Body.String()), c.says, c.at)
	}
	require.NoError(t, h.ask(api.VerbPatch, h.taints(t, "oslo"), nil))
}

// taints is a patch that gives a member those alone.
func (h *acting) taints(t *testing.T, member string, taints ...api.Taint) api.PatchRequest {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": append([]api.Taint{}, taints...)}})
	require.NoError(t, err)
	return api.PatchRequest{Object: api.ObjectRef{APIVersion: api.GroupCluster + "/v1", Kind: api.KindMemberCluster, Name: member}, Patch: patch}
}

func (h *acting) unseen(t *testing.T) {
	to, fields, _ := h.form("anna", "/do/pause?object=placement/web")
	h.door.changes()
	for _, missing := range []string{"request", "seen", "object"} {
		less := url.Values{}
		for name := range fields {
			if name != missing {
				less[name] = fields[name]
			}
		}
		require.Equal(t, http.StatusBadRequest, h.post("anna", to, less).Code, missing)
	}
	elsewhere := httptest.NewRequestWithContext(bustest.Context(t), http.MethodPost, "http://localhost:8480"+to, strings.NewReader(fields.Encode()))
	elsewhere.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	elsewhere.Header.Set("Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, h.send(elsewhere, "anna").Code)
	require.Equal(t, http.StatusNotFound, h.get("anna", "/do/delete?object=placement/web").Code)
	require.Empty(t, h.door.changes())
}

func (h *acting) counted(t *testing.T) {
	bustest.Eventually(t, func() error { // all members have been heard of, or not
		return h.holds("anna", "/do/freeze?object=fleet/placements", "It concerns 33 members. Type that number")
	})
	to, fields, _ := h.form("anna", "/do/freeze?object=fleet/placements")
	for name, value := range map[string]string{"typed": "33", "reason": "sale"} {
		some := maps.Clone(fields)
		some.Set("request", "x"+name)
		some.Set(name, value)
		w := h.post("anna", to, some)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code)
		require.Contains(t, said(w.Body.String()), "nothing was done")
	}
	another := url.Values{"object": fields["object"], "seen": fields["seen"], "as": {"olaf (operator)"}, "shown": fields["shown"], "request": {"as"}, "typed": {"33"}, "reason": {"sale"}}
	w := h.post("anna", to, another)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Contains(t, said(w.Body.String()), "nothing was done: it was agreed to as")
	require.Contains(t, h.does("anna", "/do/freeze?object=fleet/placements", "typed", "33", "reason", "sale"), "placements frozen.")
	h.events("fleet/placements", "anna", "Frozen", 1)
	require.Contains(t, h.does("anna", "/do/unfreeze?object=fleet/placements", "typed", "33"), "placements unfrozen.")
}

func (h *acting) hostile(t *testing.T) {
	h.door.changes()
	for _, object := range []string{"placement/web;reboot", "placement/$(id)", "placement/", "run/a/b/c", "member/web", "placement/web\n", "placement/" + strings.Repeat("a", 300)} {
		w := h.get("vera", "/do/pause?object="+url.QueryEscape(object))
		require.Equal(t, http.StatusBadRequest, w.Code, object)
		require.NotContains(t, said(w.Body.String()), "flotilla rollout pause", object)
	}
	_, _, text := h.form("olga", "/do/skip?object=run/spring&target="+url.QueryEscape("member/$(reboot)"))
	require.Contains(t, text, "flotilla run skip spring 'member/$(reboot)'")
	w := h.get("olga", "/do/pause?object=placement/web&back="+url.QueryEscape("//evil.example/"))
	require.NotContains(t, w.Body.String(), "evil.example")
	require.Empty(t, h.door.changes())
}

func (h *acting) undone(t *testing.T) {
	h.apply(fmt.Sprintf(actCart, "two"))
	bustest.Eventually(t, func() error {
		return h.holds("olga", "/do/undo?object=placement/web", "back to revision 1, as revision 3")
	})
	require.Contains(t, h.does("olga", "/do/undo?object=placement/web"), "--to-revision 1")
	h.events("placement/web", "olga", "RolloutUndone", 1)
	w := h.get("olga", "/do/undo?object=placement/web&revision=1")
	require.Equal(t, http.StatusConflict, w.Code)
	require.Contains(t, said(w.Body.String()), "members are to have that already")
	require.Contains(t, h.does("olga", "/do/resume?object=placement/web"), "follows what it selects")
	h.settled(2)
}

func (h *acting) runs(t *testing.T) {
	require.Contains(t, h.does("olga", "/do/start?run=spring"), "Run spring is Pending.")
	bustest.Eventually(t, func() error {
		return h.holds("olga", "/activity", "gate waits", "all/before/Approval owners", "Review and approve")
	})
	require.NoError(t, h.holds("vera", "/activity", "gate waits"))
	require.NotContains(t, said(h.get("vera", "/activity").Body.String()), "Review and")

	_, _, text := h.form("olga", "/do/approve?object=run/spring")
	require.Contains(t, text, "flotilla run approve spring --gate all/before/Approval")
	require.Contains(t, text, "begin at once")
	require.Contains(t, text, "Concerns 2 members")
	require.Contains(t, h.does("olga", "/do/skip?object=run/spring&target=member/oslo"), "Run spring is Pending.")
	_, _, text = h.form("olga", "/do/approve?object=run/spring")
	require.Contains(t, text, "Concerns 1 member", "the plan is that of now")
	require.Contains(t, h.does("olga", "/do/stop?object=run/spring"), "Run spring is Stop")
	w := h.get("olga", "/do/approve?object=run/spring")
	require.Equal(t, http.StatusConflict, w.Code)
	require.Contains(t, said(w.Body.String()), "flotilla run start spring")
	require.Contains(t, h.does("olga", "/do/start?object=run/spring"), "Run spring is")
	require.Contains(t, h.does("olga", "/do/approve?object=run/spring"), "Run spring is")
	bustest.EventuallyIn(t, time.Minute, func() error {
		var run api.UpdateRun
		if err := h.ask(api.VerbGet, api.GetRequest{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: "spring"}, &run); err != nil {
			return err
		}
		if state := run.Status.Status.State; state != api.StateCompleted {
			return errors.New("the run is " + string(state))
		}
		return nil
	})
	_, _, text = h.form("olga", "/do/rerun?object=run/spring&members=SkippedByUser&windows=yes")
	require.Contains(t, text, "begin at once")
	require.Contains(t, text, "flotilla run rerun spring --members SkippedByUser --ignore-maintenance-windows --reason")
	require.Contains(t, text, "Why")
}

func (h *acting) members(t *testing.T) {
	require.Contains(t, h.does("anna", "/do/cordon?object=member/oslo"), "cordon of member/oslo: configured.")
	_, _, text := h.form("anna", "/do/drain?object=member/oslo")
	require.Contains(t, text, "web leaves")
	require.Contains(t, h.does("anna", "/do/drain?object=member/oslo"), "drain of member/oslo: configured.")
	h.settled(1)
	require.Contains(t, h.does("anna", "/do/uncordon?object=member/oslo"), "uncordon of member/oslo: configured.")
	h.settled(2)

	_, _, text = h.form("anna", "/do/admit?object=member/riga")
	require.Contains(t, text, "its agent asks for labels, and may set them: live=yes")
	require.Contains(t, text, "web comes to riga")
	require.Contains(t, h.does("anna", "/do/admit?object=member/riga"), "riga is part of the fleet.")
	h.settled(3)
	require.Contains(t, h.does("anna", "/do/revoke?object=member/riga"), "The agent of riga is refused.")
	h.events("member/riga", "anna", "Revoked", 1)
}

func (h *acting) activity(t *testing.T) {
	bustest.Eventually(t, func() error {
		return h.holds("olga", "/activity?mine=1", "What you did", "RolloutPaused", "flotilla events --by olga")
	})
	require.NotContains(t, said(h.get("anna", "/activity?mine=1").Body.String()), "RolloutPaused")
	require.NoError(t, h.holds("vera", "/activity?object=placement/web&by=olga", "RolloutUndone", "from 127.0.0.1"))
	older := regexp.MustCompile(`href="(/activity\?before=\d+)">Older`)
	pages, at := 0, "/activity"
	for ; at != "" && pages < 20; pages++ {
		body := h.get("vera", at).Body.String()
		at = ""
		if found := older.FindStringSubmatch(body); found != nil {
			at = html.UnescapeString(found[1])
		}
	}
	require.Greater(t, pages, 1)
	require.Less(t, pages, 20)
	require.Equal(t, http.StatusBadRequest, h.get("vera", "/activity?before=yesterday").Code)

	rows, err := csv.NewReader(h.get("vera", "/activity.csv?by=olga&object=placement/web").Body).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"time", "by", "from", "object", "member", "type", "reason", "message", "request"}, rows[0])
	for _, row := range rows[1:] {
		require.Equal(t, []string{"olga", "127.0.0.1", "placement/web"}, row[1:4])
	}
}

// flooded has more events than one answer looks at, and an older one of somebody. A screen says that it looked at a part,
// an export has all up to its bound.
func (h *acting) flooded(t *testing.T) {
	running := h.fleet.Hub.Server()
	c, err := bus.ConnectHub(bustest.Context(t), bus.Options{
		Fleet: h.fleet.Client.Fleet.Name, URL: running.URL(), Creds: running.HubCreds(), Log: zerolog.Nop(), Now: elsewhen.Now,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	bustest.Flood(t, c, 1, api.Audit{Object: "member/oslo", Reason: "Seen", By: "bert", Member: "oslo"})
	bustest.Flood(t, c, 11_000, api.Audit{Object: "fleet/state", Reason: "Flaps", By: "reporter"})
	require.NoError(t, h.holds("vera", "/activity?by=bert", "None in this part of the history.", "Older"))
	require.NoError(t, h.holds("vera", "/members/oslo", "None in the newest part of the history."))
	for at, want := range map[string]int{"/activity.csv?by=bert": 1, "/activity.csv?object=fleet/state": 5000} {
		rows, err := csv.NewReader(h.get("vera", at).Body).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, 1+want, at)
	}
}

func (h *acting) nodes(t *testing.T) {
	require.NoError(t, h.holds("vera", "/nodes", "of no pool", "Unmanaged", "workers", "flotilla budgets"))
	require.NoError(t, h.holds("vera", "/nodes?pool=workers", "Members of workers", "rows 1 to 1 of 1", "oslo 3 ", "flotilla budgets workers"))
	require.Contains(t, h.get("vera", "/nodes?pool=workers").Body.String(), `<a href="/nodes?member=oslo&amp;pool=workers" data-row>oslo</a>`)
	require.NotContains(t, said(h.get("vera", "/nodes?member=oslo&pool=workers").Body.String()), "Members of workers")
	require.NoError(t, h.holds("vera", "/nodes?member=oslo", "Nodes of oslo", "3 nodes", "oslo-1", "flotilla why node/oslo-1 -m oslo", "flotilla plan nodes -m oslo"))
	require.NoError(t, h.holds("vera", "/nodes?member=oslo&from=2", "3 nodes", "rows 3 to 3 of 3 Previous"))
	require.Equal(t, http.StatusNotFound, h.get("vera", "/nodes?member=nowhere").Code)
	rows, err := csv.NewReader(h.get("vera", "/nodes.csv?member=oslo").Body).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 4)
	require.Equal(t, []string{"oslo", "oslo-1"}, rows[1][:2])
	pools, err := csv.NewReader(h.get("vera", "/nodes.csv?pool=workers").Body).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"workers", "", "3"}, pools[1][:3])
	require.Equal(t, []string{"workers", "oslo", "3"}, pools[2][:3])
}

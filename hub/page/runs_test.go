package page_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/configs/examples"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/hub/page"
	"flotilla/tests/elsewhen"
)

// upgrading is the fleet of the examples with a page, whose run is done with its first stage and waits at the gate behind it.
type upgrading struct {
	t       *testing.T
	fleet   *dev.Fleet
	page    http.Handler
	session string // of an operator
}

func startUpgrading(t *testing.T) *upgrading {
	t.Helper()
	h := &upgrading{t: t}
	members, err := dev.ExampleMembers()
	require.NoError(t, err)
	for i := range members {
		members[i].Upgrade.Memory.ControlPlane, members[i].Upgrade.Memory.NodePool = configs.Duration(50*time.Millisecond), configs.Duration(50*time.Millisecond)
	}
	var door page.Door
	o := hubd.Options{Server: &server.Options{Dir: t.TempDir(), Port: -1}, Log: zerolog.Nop(), Now: elsewhen.Now, Page: hubd.Page{Site: hubd.Site{Address: "127.0.0.1:0"}, Guest: true}}
	o.Page.New = func(made hubd.PageOptions) (http.Handler, error) {
		door = made.Door
		h.page, err = page.New(page.Options{Door: made.Door, Fleet: made.Fleet, Replica: made.Replica, Guest: true, Now: made.Now, Log: made.Log})
		return h.page, err
	}
	h.fleet, err = dev.Start(t.Context(), dev.Options{Hub: o, Members: members, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.fleet.Stop()) })
	require.NoError(t, h.fleet.AdmitExamples(t.Context()))
	link, err := h.fleet.Hub.Link(bustest.Context(t), api.Caller{Name: "ada", Role: api.RoleOperator}, time.Hour)
	require.NoError(t, err)
	h.session, err = door.Enter(bustest.Context(t), link.Secret, "127.0.0.1")
	require.NoError(t, err)
	h.ready(len(members))
	for _, file := range []string{"catalog", "maintenance", "strategy", "run"} {
		h.apply("upgrades/" + file + ".yaml")
	}
	h.start("to-1-36-4")
	return h
}

func (h *upgrading) ask(verb string, question, answer any) error {
	return bus.Request(bustest.Context(h.t), h.fleet.Client, verb, question, answer, bus.RequestOptions{})
}

func (h *upgrading) apply(file string) {
	h.t.Helper()
	text, err := fs.ReadFile(examples.Files, file)
	require.NoError(h.t, err)
	documents, err := configs.Parse(file, text)
	require.NoError(h.t, err)
	request := api.ApplyRequest{}
	for _, d := range documents {
		request.Documents = append(request.Documents, d.JSON)
	}
	require.NoError(h.t, h.ask(api.VerbApply, request, nil))
}

// ready waits until so many members are Ready, with what there is on them.
func (h *upgrading) ready(want int) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		var answer api.ListResponse
		if err := h.ask(api.VerbList, api.ListRequest{Kind: api.KindMemberCluster}, &answer); err != nil {
			return err
		}
		ready := 0
		for _, item := range answer.Items {
			var m api.MemberCluster
			if err := json.Unmarshal(item, &m); err != nil {
				return err
			}
			if m.Status != nil && m.Status.State == api.MemberReady && m.Status.Inventory != nil {
				ready++
			}
		}
		if ready != want {
			return fmt.Errorf("%d members of %d are ready", ready, want)
		}
		return nil
	})
}

// start starts a run whatever windows say, and waits until its first stage is done.
func (h *upgrading) start(run string) {
	h.t.Helper()
	started := false
	bustest.Eventually(h.t, func() error {
		if !started {
			err := h.ask(api.VerbRunStart, api.RunRequest{Request: "start", Run: run, IgnoreMaintenanceWindows: true, Reason: "a test"}, nil)
			started = err == nil
			return err
		}
		var at api.UpdateRun
		if err := h.ask(api.VerbGet, api.GetRequest{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: run}, &at); err != nil {
			return err
		}
		if at.Status == nil || at.Status.Finished < 3 || at.Status.Stages[0].AfterGates[0].Status.State != api.StatePending {
			return errors.New("its first stage is not done")
		}
		return nil
	})
}

// look is what somebody sees, as an operator or as a guest.
func (h *upgrading) look(path string, operator bool) (code int, text string) {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://localhost:8480"+path, http.NoBody)
	r.RemoteAddr = "127.0.0.1:9999"
	if operator {
		r.AddCookie(&http.Cookie{Name: "flotilla-8480", Value: h.session})
	}
	w := httptest.NewRecorder()
	h.page.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (h *upgrading) sees(path string, operator bool) string {
	h.t.Helper()
	code, text := h.look(path, operator)
	require.Equal(h.t, http.StatusOK, code, text)
	return text
}

func (h *upgrading) rows(path string) [][]string {
	h.t.Helper()
	rows, err := csv.NewReader(strings.NewReader(h.sees(path, false))).ReadAll()
	require.NoError(h.t, err)
	return rows
}

var tags = regexp.MustCompile(`<[^>]*>`)

// said is the text of a screen without its tags.
func said(page string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(page, " "))), " ")
}

// drawnWell reads a picture to its end.
func drawnWell(t *testing.T, svg string) (elements int) {
	t.Helper()
	for read := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := read.Token()
		if errors.Is(err, io.EOF) {
			return elements
		}
		require.NoError(t, err)
		if _, is := token.(xml.StartElement); is {
			elements++
		}
	}
}

func TestScreensOfRunsAndWindows(t *testing.T) {
	h := startUpgrading(t)
	t.Run("the list", h.list)
	t.Run("a run", h.run)
	t.Run("its exports", h.exports)
	t.Run("who may do what", h.roles)
	t.Run("windows", h.windows)
	t.Run("what is not there", h.missing)
}

func (h *upgrading) list(t *testing.T) {
	bustest.Eventually(t, func() error { // the page reads the fleet anew within a moment
		if text := said(h.sees("/runs", false)); !strings.Contains(text, "Full to 1.36.4 3/8 1/2 test gate test/after/Approval: waits for approval") {
			return errors.New(text)
		}
		return nil
	})
	require.Contains(t, said(h.sees("/runs?state=Completed", false)), "No run")
	require.Contains(t, said(h.sees("/runs?q=1-36", false)), "1 run")
	rows := h.rows("/runs.csv")
	require.Equal(t, []string{"to-1-36-4", "UpdateRun"}, rows[1][:2])
	require.Contains(t, []string{"Running", "Pending"}, rows[1][2], "while the wait lasts, and then")
	require.Equal(t, []string{"Full to 1.36.4", "8", "3", "0", "1/2 test"}, rows[1][3:8])
}

func (h *upgrading) run(t *testing.T) {
	page := h.sees("/runs/to-1-36-4", false)
	text := said(page)
	for _, want := range []string{
		"3 of 8 members done", "Windows ignored ▲ a test", "Waiting 5 ‖ stage 5", "test/after/Approval test members look good ‖ Pending", "when somebody approves",
		"flotilla run approve to-1-36-4 --gate test/after/Approval", "production/north-and-south", `"maxAllowedFailures": "1"`,
	} {
		require.Contains(t, text, want)
	}
	require.Less(t, strings.Index(page, ">berlin<"), strings.Index(page, ">cluster2<"), "those that are done come last")
	require.Contains(t, page, `href="/runs/to-1-36-4?waits=stage#members"`)
	require.Contains(t, page, `<a href="/runs" data-up>`)
	require.Regexp(t, `class="mark now"`, page)
	bustest.Eventually(t, func() error { // it is foreseen beside
		if text := said(h.sees("/runs/to-1-36-4", false)); !strings.Contains(text, "does not end by itself: gate test/after/Approval") || !strings.Contains(text, "foreseen ") {
			return errors.New(text)
		}
		return nil
	})
}

func (h *upgrading) exports(t *testing.T) {
	require.Len(t, h.rows("/runs/to-1-36-4?as=csv"), 9)
	require.Len(t, h.rows("/runs/to-1-36-4?as=csv&waits=stage"), 6)
	require.Len(t, h.rows("/runs/to-1-36-4?as=csv&group=production%2Feast"), 3)
	rows := h.rows("/runs/to-1-36-4?as=csv&group=test&state=Completed")
	require.Len(t, rows, 4)
	require.Equal(t, []string{"test", "test", "cluster2", "Completed", "UpgradeSucceeded"}, rows[1][:5])
	require.Equal(t, []string{"1.36.3", "1.36.4", "1"}, rows[1][6:9])
	var told struct {
		Lanes struct {
			Lanes []struct{ Stage, Group string }
		}
		Members []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(h.sees("/runs/to-1-36-4?as=json", false)), &told))
	require.Equal(t, "[{test test} {production east} {production north-and-south}]", fmt.Sprint(told.Lanes.Lanes))
	require.Greater(t, drawnWell(t, h.sees("/runs/to-1-36-4?as=svg", false)), 10)
}

func (h *upgrading) roles(t *testing.T) {
	approve, skip, stop := "/do/approve?", "/do/skip?", "/do/stop?"
	guest, operator := h.sees("/runs/to-1-36-4", false), h.sees("/runs/to-1-36-4", true)
	for _, link := range []string{approve, skip, stop} {
		require.NotContains(t, guest, link)
		require.Contains(t, operator, link)
	}
	require.NotContains(t, operator, "/do/start?", "it goes on")
	for _, link := range regexp.MustCompile(`href="(/do/[^"]*)"`).FindAllStringSubmatch(operator, -1) {
		code, text := h.look(html.UnescapeString(link[1]), true)
		require.Equal(t, http.StatusOK, code, "%s: %s", link[1], said(text))
	}
}

func (h *upgrading) windows(t *testing.T) {
	bustest.Eventually(t, func() error { // schedules are read beside
		if text := said(h.sees("/windows", false)); !strings.Contains(text, "east 3 ") {
			return errors.New(text)
		}
		return nil
	})
	text := said(h.sees("/windows", false))
	for _, want := range []string{
		"hour by hour in UTC", "berlin upgrades", "Europe/Berlin every Monday at 01:00 for 6h, from 2026-01-01, not on 2026-12-18 to 2027-01-03", "flotilla windows",
	} {
		require.Contains(t, text, want)
	}
	require.Contains(t, said(h.sees("/windows?for=content", false)), "east 3 3 3 at", "nothing keeps content back")
	rows := h.rows("/windows.csv?q=name%3Dberlin")
	require.Len(t, rows, 3)
	require.Equal(t, []string{"berlin", "upgrades"}, rows[1][:2])
	require.NotEmpty(t, rows[1][3])
	require.Greater(t, drawnWell(t, h.sees("/windows.svg?days=31&by=env", false)), 5)
	for _, wrong := range []string{"days=0", "days=400", "days=x", "for=tea", "q=%22"} {
		code, text := h.look("/windows?"+wrong, false)
		require.Equal(t, http.StatusBadRequest, code, wrong)
		require.Contains(t, said(text), "expected", wrong)
	}
}

func (h *upgrading) missing(t *testing.T) {
	for _, path := range []string{"/runs/nope", "/runs/shop/nope"} {
		code, text := h.look(path, false)
		require.Equal(t, http.StatusNotFound, code)
		require.Contains(t, text, "nope")
	}
}

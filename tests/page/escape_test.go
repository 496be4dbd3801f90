package page

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/tests/page/crowd"
	"flotilla/tests/page/listen"
)

// hostile is what somebody asks a page who wants it to run something.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`

var (
	tags    = regexp.MustCompile(`<[a-zA-Z][^>]*>`)
	values  = regexp.MustCompile(`"[^"]*"`)
	handler = regexp.MustCompile(`(?i)\son[a-z]+\s*=`)
	leading = regexp.MustCompile(`(?i)\s(?:href|src|action|formaction|xlink:href)="([^"]*)"`)
	within  = regexp.MustCompile(`^(/([^/\\]|$)|#|data:,$)`)
)

// quiet requires that a document has no element, no handler and no address that a template did not write. What others said has
// no < in it, nor a quote within a value, so that each tag that is found is one of a template, or a fault.
func quiet(t *testing.T, at, document string) {
	t.Helper()
	for _, tag := range tags.FindAllString(document, -1) {
		name, _, _ := strings.Cut(strings.Trim(tag, "</>"), " ")
		name = strings.ToLower(name)
		require.NotContains(t, []string{"img", "b", "iframe", "object", "embed", "style", "base"}, name, "%s: %s", at, tag)
		require.NotRegexp(t, handler, values.ReplaceAllString(tag, `""`), at)
		if name == "script" {
			require.Equal(t, `<script src="/static/page.js" defer>`, tag, at)
		}
		for _, to := range leading.FindAllStringSubmatch(tag, -1) {
			require.Regexp(t, within, html.UnescapeString(to[1]), "%s: %s", at, tag)
		}
	}
}

// escaping is a fleet in which all that people, agents and API servers may say freely has markup in it, looked at by an admin.
type escaping struct {
	t      *testing.T
	fleet  *crowd.Fleet
	cookie *http.Cookie
}

func (h *escaping) request(at string) *http.Request {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.fleet.Hub.Page()+at, http.NoBody)
	require.NoError(h.t, err)
	request.AddCookie(h.cookie)
	return request
}

func (h *escaping) stream(at string) *listen.Stream {
	return listen.To(h.t, h.request("/stream?at="+url.QueryEscape(at)))
}

func (h *escaping) get(at string) (*http.Response, string) {
	h.t.Helper()
	answer, err := http.DefaultTransport.RoundTrip(h.request(at))
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(h.t, err)
	require.Equal(h.t, "nosniff", answer.Header.Get("X-Content-Type-Options"), at)
	require.Contains(h.t, answer.Header.Get("Content-Security-Policy"), "script-src 'self'; style-src 'self'", at)
	return answer, string(text)
}

// TestWhatOthersSayIsText looks at every screen, export and stream of a fleet that is full of markup, and asks for more.
func TestWhatOthersSayIsText(t *testing.T) {
	fleet := crowd.Start(t, crowd.Options{Members: 10, Placements: 5, Page: true})
	fleet.Set(fleet.Anyone(rand.New(rand.NewPCG(1, 1))), crowd.Unwell(hostile))
	fleet.Settle()
	h := &escaping{t: t, fleet: fleet, cookie: fleet.Enter(api.RoleAdmin)}
	rows, err := fleet.Rows(t.Context())
	require.NoError(t, err)
	var screens []string
	for i := range rows.Members {
		screens = append(screens, "/members/"+rows.Members[i].Name, "/nodes?member="+rows.Members[i].Name, "/placements/web?member="+rows.Members[i].Name)
	}
	for i := range rows.Placements {
		screens = append(screens, "/placements/"+rows.Placements[i].Key)
	}
	for i := range rows.Runs {
		screens = append(screens, "/runs/"+rows.Runs[i].Key)
	}
	screens = append(screens, "/", "/?by=version", "/members", "/members?by=region", "/placements", "/placements?by=team", "/runs", "/windows", "/windows?by=region", "/nodes", "/activity", "/activity?mine=1",
		"/do/resume?object=placement/api", "/do/unfreeze?object=member/"+rows.Members[1].Name, "/do/approve?object=run/spring", "/do/freeze?object=fleet/fleet")
	h.shown(screens)
	h.exported(screens)
	h.reflected()
}

// shown looks at screens, and at what streams send of them; each text that is markup is on one of them.
func (h *escaping) shown(screens []string) {
	var all strings.Builder
	for _, at := range screens {
		answer, text := h.get(at)
		require.Equal(h.t, "text/html; charset=utf-8", answer.Header.Get("Content-Type"), at)
		quiet(h.t, at, text)
		all.WriteString(text)
		if strings.HasPrefix(at, "/do/") || answer.StatusCode != http.StatusOK { // which are not kept up
			continue
		}
		stream := h.stream(at)
		_, parts := stream.Until("life", listen.Is("alive"))
		stream.Close()
		require.NotEmpty(h.t, parts, at)
		for _, e := range parts {
			quiet(h.t, "stream of "+at, e.Part.HTML)
		}
	}
	for what, text := range map[string]string{
		"a region of an inventory": `nowhere &lt;b onclick=`, "a version of an agent": `v0.9.1-&lt;script&gt;`, "a message of an agent": `its agent says: &#34;&gt;&lt;script&gt;`,
		"a refusal of an API server": `javascript:alert(1)`, "a pod that crashes": `exit 1: &lt;script&gt;`, "a drift": `kubectl-edit &lt;script&gt;`, "a failed upgrade": `is forbidden: &lt;script&gt;`,
		"the name of a gate": `&lt;b onmouseover=`, "a reason that somebody gave": `the new image crashes, see &lt;a href=`,
	} {
		require.Contains(h.t, all.String(), text, what)
	}
}

// exported reads every other form of screens.
func (h *escaping) exported(screens []string) {
	forms := map[string]int{}
	for _, at := range screens {
		if strings.HasPrefix(at, "/do/") {
			continue
		}
		mark := "?"
		if strings.Contains(at, "?") {
			mark = "&"
		}
		for form, read := range map[string]func(string, string){"csv": h.table, "json": h.object, "svg": h.picture} {
			answer, text := h.get(at + mark + "as=" + form)
			if answer.StatusCode != http.StatusOK {
				quiet(h.t, at+" as "+form, text)
				continue
			}
			kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
			require.Equal(h.t, map[string]string{"csv": "text/csv", "json": "application/json", "svg": "image/svg+xml"}[form], kind, at)
			read(at, text)
			forms[form]++
		}
	}
	require.Greater(h.t, forms["csv"], 15)
	require.Greater(h.t, forms["json"], 15)
	require.Greater(h.t, forms["svg"], 4)
}

// table requires that no cell is a formula.
func (h *escaping) table(at, text string) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(h.t, err, at)
	for _, row := range rows {
		for _, cell := range row {
			require.NotRegexp(h.t, `^[=@\t\r]|^[-+][^0-9]`, cell, at)
		}
	}
}

// object requires that nothing takes it for a document.
func (h *escaping) object(at, text string) {
	require.True(h.t, json.Valid([]byte(text)), at)
	require.NotContains(h.t, text, "<", at)
}

// picture requires that it is one of templates' elements.
func (h *escaping) picture(at, text string) {
	for read := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := read.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(h.t, err, at)
		element, is := token.(xml.StartElement)
		if !is {
			continue
		}
		require.Contains(h.t, []string{"svg", "g", "path", "rect", "text", "title"}, element.Name.Local, at)
		require.False(h.t, slices.ContainsFunc(element.Attr, func(a xml.Attr) bool { return strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" }), at)
	}
}

// reflected asks for what is shown again, in every path and value of a URL that a page reads.
func (h *escaping) reflected() {
	word := url.QueryEscape(hostile)
	asked := []string{"/" + url.PathEscape(hostile), "/members/" + url.PathEscape(hostile), "/placements/" + url.PathEscape(hostile), "/runs/" + url.PathEscape(hostile), "/do/" + url.PathEscape(hostile), "/done/" + url.PathEscape(hostile)}
	for at, names := range map[string]string{
		"/?": "by", "/members?": "q by sort state from", "/placements?": "q by from", "/placements/web?": "by member group filter from", "/runs?": "q state from", "/runs/spring?": "group state waits from",
		"/windows?": "for days by q", "/nodes?": "member pool from", "/activity?": "object member by before mine", "/do/pause?": "object", "/do/pause?object=placement/web&": "back reason",
		"/do/skip?object=run/spring&": "target back", "/do/undo?object=placement/web&": "revision", "/enter?": "link",
	} {
		for name := range strings.FieldsSeq(names) {
			asked = append(asked, at+name+"="+word)
		}
	}
	for _, at := range asked {
		_, text := h.get(at)
		quiet(h.t, at, text)
		require.NotContains(h.t, text, "<script>alert", at)
	}
}

package overview

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// four are a fleet in which each member differs from the others in what queries ask for.
func four() []Member {
	return []Member{
		{Name: "berlin", State: api.MemberReady, Region: "eu-west", Facts: Facts{Version: "v1.31.2"}, Labels: map[string]string{"tier": "prod", "city name": "Berlin"}},
		{Name: "oslo", State: api.MemberUnknown, Region: "eu-north", Facts: Facts{Version: "v1.31.10"}, Message: "no heartbeat for 6m0s", Labels: map[string]string{"tier": "dev"}},
		{Name: "paris", State: api.MemberReady, Region: "eu-west", Zone: "a", Facts: Facts{Version: "v1.3.1"}, Membership: Membership{Cordoned: true}, Labels: map[string]string{"label:x": "odd"}},
		{Name: "web-1", State: api.MemberNotReady, Membership: Membership{Leaving: true}},
	}
}

func names(members []*Member) string {
	var all []string
	for _, m := range members {
		all = append(all, m.Name)
	}
	return strings.Join(all, " ")
}

func TestQueriesFilterMembers(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "berlin oslo paris web-1",
		"  \t":                        "berlin oslo paris web-1",
		"WEB":                         "web-1",
		"eu-w":                        "berlin paris",
		"!eu-w":                       "oslo web-1",
		`"no heartbeat"`:              "oslo",
		"no heartbeat":                "oslo",
		"heartbeat berlin":            "",
		"region=eu-west !paris":       "berlin",
		"region=":                     "web-1",
		"Region=EU-WEST,eu-north":     "berlin oslo paris",
		"state=NotReady":              "",
		"state=leaving":               "web-1",
		"state=Ready,Unknown":         "berlin oslo paris",
		"state=Cordoned":              "paris",
		"sign=Away,Bad":               "oslo web-1",
		"version=1.31":                "berlin oslo",
		"version=v1.3":                "paris",
		"version=1.31.1":              "",
		"version=":                    "web-1",
		"name=oslo":                   "oslo",
		"zone=a":                      "paris",
		"label:tier":                  "berlin oslo",
		"!label:tier":                 "paris web-1",
		"label:tier=PROD":             "berlin",
		"label:tier=":                 "",
		`label:"city name"=berlin`:    "berlin",
		`!label:"city name"="berlin"`: "oslo paris web-1",
		"label:label:x=odd":           "paris",
		`"region=eu-west"`:            "",
		`"!eu"`:                       "",
	} {
		q, faults := ParseQuery(text)
		require.Empty(t, faults, text)
		require.Equal(t, want, names(Filter(four(), q)), text)
	}
}

func TestFaultsOfQueriesSayWhatWasFound(t *testing.T) {
	for text, want := range map[string]string{
		"web!":                   "",
		"web !":                  `5 nothing: a text, field=value or label:key=value`,
		`""`:                     `1 nothing: a text, field=value or label:key=value`,
		"label:":                 `1 label: without a key: label:key or label:key=value`,
		"label:=x":               `1 label: without a key: label:key or label:key=value`,
		"tier=prod":              `1 field "tier": one of name, region, sign, state, version, zone, or label:tier=prod`,
		"ok state=Sleepy":        `4 state "sleepy": one of Ready, NotReady, Unknown, Joining, Leaving, Cordoned, Draining`,
		"sign=":                  `1 sign "": one of Well, Moving, Waiting, Warn, Bad, Away`,
		`a "b`:                   `3 a quote " that nothing closes: another " behind it`,
		strings.Repeat("é", 251): `0 502 bytes: at most 500`,
		strings.Repeat("a ", 21): `0 21 terms: at most 20`,
		"=x":                     `1 field "": one of name, region, sign, state, version, zone, or label:=x`,
	} {
		_, faults := ParseQuery(text)
		found := ""
		for _, f := range faults {
			require.Equal(t, "q", f.Path)
			found += strings.TrimSpace(strings.Join([]string{string(rune('0' + f.Column)), f.Found + ": " + f.Expected}, " "))
		}
		require.Equal(t, want, found, text)
	}
}

// Whatever is typed is a query or has faults, and a query that is quoted finds what is written.
func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{"web", `a "b c" !d=e`, "label:x=y,z", `!"`, "\xff=\xfe", `label:""=""`} {
		f.Add(seed)
	}
	members := four()
	f.Fuzz(func(t *testing.T, text string) {
		q, faults := ParseQuery(text)
		if len(faults) > 0 {
			for _, fault := range faults {
				require.NotEmpty(t, fault.Found)
				require.NotEmpty(t, fault.Expected)
			}
			return
		}
		Filter(members, q)
		quoted := strings.ReplaceAll(text, `"`, "")
		if quoted == "" || len(quoted) > maxQuery-2 {
			return
		}
		q, faults = ParseQuery(`"` + quoted + `"`)
		require.Empty(t, faults)
		require.Len(t, Filter([]Member{{Message: quoted}, {}}, q), 1)
	})
}

package subjects

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Keys that others name are those that a server stores, and of known kinds those that name a record.
func TestKeysThatNobodyCouldUse(t *testing.T) {
	for bucket, keys := range map[string]map[string]string{
		State: {
			"":                                      "nothing before, behind or between dots",
			".schedule":                             "nothing before, behind or between dots",
			"schedule.":                             "nothing before, behind or between dots",
			"snapshot..1":                           "nothing before, behind or between dots",
			"schedule.a b":                          `" " at byte 10`,
			"schedule.*":                            `"*" at byte 9`,
			"schedule.>":                            `">" at byte 9`,
			"schedule.é":                            `"é" at byte 9`,
			"schedule.\xff":                         `"\xff" at byte 9`,
			"schedule.a\r\n":                        `"\r" at byte 10`,
			"schedule.$":                            `"$" at byte 9`,
			"schedule.a=2f":                         `"a=2f" as its name, expected a name as hubs write it: schedule.<placement>`,
			"schedule.a/b":                          `"a/b" as its name`,
			"schedule.a.b":                          `"a.b" as its name`,
			"snapshot.web":                          `"web" as its name`,
			"snapshot.web.01":                       `"web.01" as its name`,
			"spec.member.=2A":                       `"=2A" as its name`,
			"member.Berlin":                         `"Berlin" as its name`,
			"identity.a=2Eb":                        `"a=2Eb" as its name`,
			"schedule." + strings.Repeat("a", 4000): "bytes of a subject, expected at most 3072",
		},
		Content: {"a b": `" " at byte 1`, "": "nothing before"},
	} {
		for key, found := range keys {
			is, expected := fleet.KeyFault(bucket, key)
			require.Contains(t, "found "+is+", expected "+expected, found, key)
			require.NotEmpty(t, is, key)
		}
	}
	right := []string{"later.a=b", "later", TermKey, TallyKey, LayoutKey, RestoringKey, Snapshots.Key("ns/web.12"), MemberSpecs.Key("berlin")}
	for _, r := range Records() {
		if r.Token != ofMember && !r.Family.indexed {
			right = append(right, r.Family.Key(""), r.Family.Key("*"), r.Family.Key("a.b/c é"))
		}
	}
	for _, key := range right {
		found, expected := fleet.KeyFault(State, key)
		require.Empty(t, found+expected, key)
	}
	found, expected := fleet.KeyFault(Content, "0f3a")
	require.Empty(t, found+expected)
}

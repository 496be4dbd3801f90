package api

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNamesOfPeople(t *testing.T) {
	for name, fine := range map[string]bool{
		"anna": true, "Zoe": true, "a": true, "z9": true, "0x": true, "9": true, "A.b_c@d+e-f": true, strings.Repeat("a", 63): true, "Z": true,
		"": false, ".anna": false, "-a": false, "@": false, "an na": false, "anna/b": false, "änna": false, strings.Repeat("a", 64): false,
		"a`": false, "a{": false, "a[": false, "a:": false, "hub": false, "notifier": false, "user": false, "hubert": true,
	} {
		require.Equal(t, fine, CheckUser(name) == nil, name)
	}
	for _, room := range []string{"door", "checker", "gauger", "reads"} {
		require.ErrorContains(t, CheckUser(room), "which no part of the hub goes by in events")
	}
	require.ErrorContains(t, CheckUser("a b"), "expected 1 to 63 letters, digits")
}

// Members and credentials belong to admins, changes and Secrets to operators, all else to viewers.
func TestWhichRoleIsNeeded(t *testing.T) {
	for verb, want := range map[string]Role{VerbGet: RoleViewer, VerbApply: RoleOperator, VerbRaw: RoleOperator, VerbAdmit: RoleAdmin, VerbUserAdd: RoleAdmin, "odd": RoleAdmin} {
		require.Equal(t, want, NeededFor(verb), verb)
	}
	require.Equal(t, []Role{RoleAdmin, RoleOperator}, []Role{NeededToWrite(KindMemberCluster), NeededToWrite("ConfigMap")})
	for _, c := range []struct {
		version, kind string
		want          Role
	}{
		{"v1", "Secret", RoleOperator},
		{"", "Secret", RoleOperator},
		{"example.com/v1", "Secret", RoleViewer},
		{"v2", "Secret", RoleOperator},
		{"V1", "Secret", RoleOperator},
		{"/v1", "Secret", RoleOperator},
		{" v1", "Secret", RoleOperator},
		{"/", "Secret", RoleOperator},
		{"/a/v1", "Secret", RoleOperator},
		{"core/v1", "Secret", RoleViewer},
		{"v1", "ConfigMap", RoleViewer},
		{"", "ConfigMap", RoleViewer},
	} {
		require.Equal(t, c.want, NeededToRead(c.version, c.kind), "%s %s", c.version, c.kind)
	}
	for _, role := range Roles() {
		read, err := ParseRole(string(role))
		require.NoError(t, err)
		require.Equal(t, role, read)
	}
	_, err := ParseRole("root")
	require.ErrorContains(t, err, `role "root": expected viewer, operator or admin`)
	refusal := Forbidden(Caller{Name: "anna", Role: RoleViewer}, RoleAdmin, "applying members")
	require.Equal(t, "applying members needs the role admin: anna is viewer; an admin gives it: flotilla user renew anna --role admin", refusal.Message)
}

func TestCredentialsOfPeopleEnd(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for want, u := range map[string]User{
		"Valid": {}, "Ended": {Ends: metav1.NewTime(now)}, "Revoked": {Ends: metav1.NewTime(now.Add(time.Second)), Revoked: &metav1.Time{}},
	} {
		require.Equal(t, want, u.Standing(now))
	}
	valid := User{Ends: metav1.NewTime(now.Add(time.Second))}
	require.Equal(t, "Valid", valid.Standing(now))
}

func TestAmountsOfBytesForPeople(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 640: "640 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 1536: "1.5 KiB", 10240: "10 KiB", 3 << 19: "1.5 MiB", 12 << 30: "12 GiB",
		1 << 40: "1.0 TiB", 2048 << 40: "2048 TiB",
	} {
		require.Equal(t, want, Size(n))
	}
}

// A taint takes the place of the one of its key; others stay where they are, and what was given is not changed.
func TestTaintsByTheirKeys(t *testing.T) {
	a, b, c := Taint{Key: "a"}, Taint{Key: "b"}, Taint{Key: "c"}
	given := []Taint{a, b, c}
	require.Equal(t, []Taint{a, {Key: "b", Value: "x"}, c}, WithTaint(given, Taint{Key: "b", Value: "x"}))
	require.Equal(t, []Taint{{Key: "a", Value: "x"}, b, c}, WithTaint(given, Taint{Key: "a", Value: "x"}))
	require.Equal(t, []Taint{a, b, c, {Key: "d"}}, WithTaint(given, Taint{Key: "d"}))
	require.Equal(t, []Taint{a, c}, WithoutTaint(given, "b"))
	require.Equal(t, []Taint{a, b, c}, given)
	require.Equal(t, []Taint{a}, WithTaint(nil, a))
}

// An event concerns the member it names, and those whose picks it tells of.
func TestWhomAnEventConcerns(t *testing.T) {
	picks := &Picks{Gained: []PickChange{{Members: []string{"a"}, Total: 1}}, Lost: []PickChange{{Members: []string{"b"}, Total: 2}, {Members: []string{"c"}, Total: 3}}}
	for _, c := range []struct {
		event  Audit
		member string
		want   bool
	}{
		{Audit{Member: "a"}, "a", true},
		{Audit{Member: "a"}, "b", false},
		{Audit{}, "a", false},
		{Audit{Picks: picks}, "a", true},
		{Audit{Picks: picks}, "b", true},
		{Audit{Picks: picks}, "c", true},
		{Audit{Picks: picks}, "d", false},
		{Audit{Member: "d", Picks: picks}, "d", true},
	} {
		require.Equal(t, c.want, c.event.Concerns(c.member), "%+v %s", c.event, c.member)
	}
	require.Equal(t, &Picks{Gained: []PickChange{{Total: 1}}, Lost: []PickChange{{Total: 5}}}, picks.Bare())
	require.Equal(t, &Picks{Count: 4}, (&Picks{Count: 4, Gained: []PickChange{{}}}).Bare())
}

func TestPausesAndFreezesAreTold(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC))
	for want, p := range map[string]Pause{
		"paused by anna": {By: "anna"},
		"paused by anna since 2026-11-20T13:00:00Z: the new image crashes": {By: "anna", Since: since, Reason: "the new image crashes"},
		"the fleet frozen by anna: sale":                                   {By: "anna", Frozen: "the fleet", Reason: "sale"},
	} {
		require.Equal(t, want, p.String())
	}
	freeze := Freeze{Scope: FreezePlacements, By: "anna", Since: since, Reason: "sale"}
	require.Equal(t, "placements frozen by anna since 2026-11-20T13:00:00Z: sale", freeze.String())
	require.Equal(t, "placements frozen by anna since 2026-11-20T13:00:00Z: sale", PauseBy(&freeze).String())
	require.Nil(t, PauseBy(nil))
	require.Nil(t, PauseOf(nil))
	require.Equal(t, "anna", PauseOf(map[string]string{AnnotationPaused: `{"by":"anna"}`}).By)
	require.Equal(t, "paused by somebody", PauseOf(map[string]string{AnnotationPaused: "no JSON"}).String())
}

func TestOnlyBackupsOfThisVersionAreRead(t *testing.T) {
	for version, want := range map[int]string{BackupVersion: "", BackupVersion + 1: "of a newer build", BackupVersion - 1: "of an older build"} {
		err := (&BackupHead{Version: version}).Readable()
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

package validate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/strict"
)

func TestChecksNameTheirPlace(t *testing.T) {
	require.Empty(t, MemberName("member", "berlin"))
	require.Equal(t, []string{`spec.names[1]: found "a.b", expected lower-case letters, digits and '-', beginning and ending with a letter or digit`},
		lines(MemberName("spec.names[1]", "a.b")))
	require.Empty(t, Labels("labels", map[string]string{"a": "b"}))
	require.Equal(t, []string{
		`labels.a: found "-", expected at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit`,
		`labels["b c"]: found "b c", expected a name of at most 63 letters, digits, '-', '_' and '.', optionally with a DNS prefix and a slash before it`,
	}, lines(Labels("labels", map[string]string{"b c": "", "a": "-"})))
	require.Empty(t, Properties("properties", map[string]string{"k8s.io/version": "v1.36.3"}))
	require.Len(t, Properties("properties", map[string]string{"resources.kubernetes-fleet.io/cpu": "1"}), 1)
}

func TestIsQuantity(t *testing.T) {
	for s, want := range map[string]bool{"1": true, "100m": true, "2Gi": true, "-1.5": true, "": false, "2GB": false, "v1": false} {
		require.Equal(t, want, strict.IsQuantity(s), s)
	}
}

func TestFaultCovers(t *testing.T) {
	f := strict.Fault{Path: "spec.policy"}
	for path, want := range map[string]bool{
		"spec.policy": true, "spec.policy.affinity": true, "spec.policy[0]": true, `spec.policy["a.b"]`: true,
		"spec.policyX": false, "spec": false, "": false,
	} {
		require.Equal(t, want, f.Covers(path), path)
	}
	require.True(t, strict.Fault{}.Covers("anything"))
}

func TestValidateMember(t *testing.T) {
	m := &api.MemberCluster{}
	m.Kind, m.Name = api.KindMemberCluster, "A"
	faults := Member(m)
	require.Len(t, faults, 1)
	require.Equal(t, "MemberCluster/A", faults[0].Object)
}

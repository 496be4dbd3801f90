package upgrader

import (
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/version"
)

// missing lists what an operation wants and the member is not yet; none: it is there. What is ahead of
// the operation counts as there. The newest image cannot be known, so it is always missing.
func missing(op *api.UpgradeOperation, now *api.MemberInventory) []string {
	found := astray(op, now)
	for i := range op.NodePools {
		if op.NodePools[i].Newest {
			found = append(found, fmt.Sprintf("node pool %s is to have the newest image", op.NodePools[i].Pool))
		}
	}
	return found
}

// astray lists what is not as an operation wants it, as far as versions and named images go.
func astray(op *api.UpgradeOperation, now *api.MemberInventory) []string {
	var found []string
	if !reaches(now.ControlPlaneVersion, op.ControlPlaneVersion) {
		found = append(found, fmt.Sprintf("the control plane is at %s, not %s", orUnknown(now.ControlPlaneVersion), op.ControlPlaneVersion))
	}
	for i := range op.NodePools {
		want := &op.NodePools[i]
		at := slices.IndexFunc(now.NodePools, func(p api.NodePoolFacts) bool { return p.Name == want.Pool })
		if at < 0 {
			found = append(found, fmt.Sprintf("there is no node pool %s", want.Pool))
			continue
		}
		is := &now.NodePools[at]
		if !reaches(is.KubernetesVersion, want.ToVersion) {
			found = append(found, fmt.Sprintf("node pool %s is at %s, not %s", want.Pool, orUnknown(is.KubernetesVersion), want.ToVersion))
		}
		if want.To != "" && is.NodeImageVersion != want.To && version.CompareImages(is.NodeImageVersion, want.To) != version.ImageNewer {
			found = append(found, fmt.Sprintf("node pool %s has image %s, not %s", want.Pool, orUnknown(is.NodeImageVersion), want.To))
		}
	}
	return found
}

// reaches reports whether a version is at least the wanted one; an empty wish is always met.
func reaches(is, want string) bool {
	if want == "" {
		return true
	}
	have, ok := version.Parse(plain(is))
	aim, clear := version.Parse(plain(want))
	return ok && clear && have.Compare(aim) >= 0
}

// plain is a version without "v" and without what distributions add, "1.36.3" of "v1.36.3+k3s1".
func plain(version string) string {
	version = strings.TrimPrefix(version, "v")
	if at := strings.IndexAny(version, "+-"); at >= 0 {
		return version[:at]
	}
	return version
}

func orUnknown(text string) string {
	if text == "" {
		return "an unknown one"
	}
	return text
}

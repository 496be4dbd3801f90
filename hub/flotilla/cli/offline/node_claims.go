package offline

import (
	"fmt"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
)

// isNodeClaim tells NodeClaims of any version.
func isNodeClaim(r api.ObjectRef) bool {
	return r.Kind == api.KindNodeClaim && resource.GroupOf(r.APIVersion) == api.GroupKarpenter
}

// noteClaim says why a NodeClaim tells nothing of a node of the files.
func (f *nodeFiles) noteClaim(c *api.NodeClaim) {
	switch {
	case c.Status.NodeName != "":
		f.Notes = append(f.Notes, fmt.Sprintf("not looked at: NodeClaim %s, whose node %s the files do not hold", c.Name, c.Status.NodeName))
	case c.DeletionTimestamp == nil:
		f.Notes = append(f.Notes, fmt.Sprintf("NodeClaim %s has no node yet: this is what follows as if it were not there; Karpenter itself waits for the launch first", c.Name))
	}
}

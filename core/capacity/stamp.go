package capacity

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"flotilla/core/api"
)

// PoolHashLevel is the version of PoolHash that is stamped beside it on nodes.
const PoolHashLevel = "flotilla-1"

// PoolHash is the digest of what nodes of a pool are made from: the whole template except requirements and
// the do-not-disrupt annotation (N14). Lists count as sets.
func PoolHash(p *api.NodePool) string {
	t := p.Spec.Template
	annotations := map[string]string{}
	for k, v := range t.Metadata.Annotations {
		if k != api.AnnotationDoNotDisrupt {
			annotations[k] = v
		}
	}
	byText := func(a, b api.NodeTaint) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	raw, err := json.Marshal([]any{
		t.Metadata.Labels, annotations, slices.SortedFunc(slices.Values(t.Spec.Taints), byText),
		slices.SortedFunc(slices.Values(t.Spec.StartupTaints), byText), t.Spec.NodeClassRef, t.Spec.ExpireAfter, t.Spec.TerminationGracePeriod,
	})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// StampedFor reports whether the hashes that a node carries are those of a pool: one that a person gave to
// another pool since carries those of the pool before.
func StampedFor(annotations map[string]string, pool string) bool {
	of, told := annotations[api.AnnotationStampedPool]
	return !told || of == pool
}

// hashed reports whether a node carries the hash of a pool.
func hashed(annotations map[string]string, pool string) bool {
	return annotations[api.AnnotationPoolHash] != "" && StampedFor(annotations, pool)
}

// Stamped reports whether a node needs no stamp: it carries one, or Karpenter's own hash, so that Karpenter
// tells when it drifts (N21).
func Stamped(annotations map[string]string, stamp *api.PoolStamp) bool {
	if annotations[api.AnnotationPoolHash] != "" && annotations[api.AnnotationPoolHashLevel] != PoolHashLevel {
		return true
	}
	return hashed(annotations, stamp.Pool) && (stamp.ClassHash == "" || annotations[api.AnnotationClassHash] != "")
}

// Stamp puts a stamp on a node that Stamped finds without. One that carries the hash of the pool lacks that of
// the node class alone, which the hub did not hold before.
func Stamp(annotations map[string]string, stamp *api.PoolStamp) {
	if !hashed(annotations, stamp.Pool) {
		annotations[api.AnnotationPoolHash], annotations[api.AnnotationPoolHashLevel] = stamp.Hash, PoolHashLevel
		annotations[api.AnnotationStampedPool] = stamp.Pool
		delete(annotations, api.AnnotationClassHash)
	}
	if stamp.ClassHash != "" && annotations[api.AnnotationClassHash] == "" {
		annotations[api.AnnotationClassHash] = stamp.ClassHash
	}
}

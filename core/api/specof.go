package api

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DecodePlacement reads the placement that a spec holds. What the head of the record says of its
// name, uid, generation and deletion goes before what is in the body.
func (s *Spec) DecodePlacement() (*Placement, error) {
	var p Placement
	if err := json.Unmarshal(s.Body, &p); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", s.Object, err)
	}
	s.head(&p.ObjectMeta)
	return &p, nil
}

// DecodeMember reads the MemberCluster that a spec holds, with the same precedence.
func (s *Spec) DecodeMember() (*MemberCluster, error) {
	var m MemberCluster
	if err := json.Unmarshal(s.Body, &m); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", s.Object, err)
	}
	s.head(&m.ObjectMeta)
	return &m, nil
}

func (s *Spec) head(meta *metav1.ObjectMeta) {
	meta.Name, meta.Namespace = s.Object.Name, s.Object.Namespace
	meta.UID, meta.Generation = types.UID(s.UID), s.Generation
	meta.DeletionTimestamp = s.Deleted
}

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
	if err := s.decodeInto(&p, &p.ObjectMeta); err != nil {
		return nil, err
	}
	return &p, nil
}

// DecodeMember reads the MemberCluster that a spec holds, with the same precedence.
func (s *Spec) DecodeMember() (*MemberCluster, error) {
	var m MemberCluster
	if err := s.decodeInto(&m, &m.ObjectMeta); err != nil {
		return nil, err
	}
	return &m, nil
}

func (s *Spec) head(meta *metav1.ObjectMeta) {
	meta.Name, meta.Namespace = s.Object.Name, s.Object.Namespace
	meta.UID, meta.Generation = types.UID(s.UID), s.Generation
	meta.DeletionTimestamp = s.Deleted
}

// DecodeRun reads the UpdateRun that a spec holds, with the same precedence.
func (s *Spec) DecodeRun() (*UpdateRun, error) {
	var r UpdateRun
	if err := s.decodeInto(&r, &r.ObjectMeta); err != nil {
		return nil, err
	}
	return &r, nil
}

// DecodeStrategy reads the UpdateStrategy that a spec holds, with the same precedence.
func (s *Spec) DecodeStrategy() (*UpdateStrategy, error) {
	var u UpdateStrategy
	if err := s.decodeInto(&u, &u.ObjectMeta); err != nil {
		return nil, err
	}
	return &u, nil
}

// DecodeProfile reads the AutoUpgradeProfile that a spec holds, with the same precedence.
func (s *Spec) DecodeProfile() (*AutoUpgradeProfile, error) {
	var p AutoUpgradeProfile
	if err := s.decodeInto(&p, &p.ObjectMeta); err != nil {
		return nil, err
	}
	return &p, nil
}

// DecodeCatalog reads the VersionCatalog that a spec holds, with the same precedence.
func (s *Spec) DecodeCatalog() (*VersionCatalog, error) {
	var c VersionCatalog
	if err := s.decodeInto(&c, &c.ObjectMeta); err != nil {
		return nil, err
	}
	return &c, nil
}

// DecodeMaintenance reads the MemberMaintenance that a spec holds, with the same precedence.
func (s *Spec) DecodeMaintenance() (*MemberMaintenance, error) {
	var m MemberMaintenance
	if err := s.decodeInto(&m, &m.ObjectMeta); err != nil {
		return nil, err
	}
	return &m, nil
}

// DecodePool reads the NodePool that a spec holds, with the same precedence.
func (s *Spec) DecodePool() (*NodePool, error) {
	var p NodePool
	if err := s.decodeInto(&p, &p.ObjectMeta); err != nil {
		return nil, err
	}
	return &p, nil
}

// DecodeInstances reads the InstanceCatalog that a spec holds, with the same precedence.
func (s *Spec) DecodeInstances() (*InstanceCatalog, error) {
	var c InstanceCatalog
	if err := s.decodeInto(&c, &c.ObjectMeta); err != nil {
		return nil, err
	}
	return &c, nil
}

func (s *Spec) decodeInto(value any, meta *metav1.ObjectMeta) error {
	if err := json.Unmarshal(s.Body, value); err != nil {
		return fmt.Errorf("decoding %s: %w", s.Object, err)
	}
	s.head(meta)
	return nil
}

package validate

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate/upgrades"
)

// Kind is what is known of one kind: a new one is a new row of kinds.
type Kind struct {
	group string
	// shared kinds bear a name that others use too: of another group they are content.
	shared bool
	// Type is the struct of its objects.
	Type reflect.Type
	// Token is the first part of the names of its objects in events, and of the keys of their specs; empty where it has
	// neither.
	Token string
	// read takes the document in, holds it to the rules that need no other object, and remarks on it.
	read func(*reading)
	// fill fills in what a value leaves out; nil where that is nothing, or not to be said without the stored object.
	fill func(value any)
	// change finds what may not change in a stored object; nil where all may.
	change func(stored *api.Spec, value any) strict.Faults
}

// versions are accepted of every known kind of a group; their shapes are the same.
var versions = map[string][]string{
	api.GroupPlacement: {"v1", "v1beta1"},
	api.GroupCluster:   {"v1", "v1beta1"},
	api.GroupFlotilla:  {"v1alpha1"},
	api.GroupKarpenter: {"v1", "v1beta1"},
}

// table has kinds by name.
type table map[string]Kind

var (
	once sync.Once
	all  table
)

// kinds are the kinds that Flotilla gives a meaning to; all others are content. Programs that read no documents do not link
// their rules.
func kinds() table {
	once.Do(func() { all = allKinds() })
	return all
}

func allKinds() table {
	placement := of(api.GroupPlacement, api.AuditPlacement, placementRules)
	placement.fill, placement.change = fills(Default), changes(PlacementUpdate)
	run := of(api.GroupFlotilla, api.AuditRun, runRules)
	run.fill = fills(upgrades.DefaultRun)
	profile := of(api.GroupFlotilla, api.AuditProfile, profileRules)
	profile.fill, profile.change = fills(upgrades.DefaultProfile), changes(upgrades.AutoUpgradeProfileChange)
	clusterOverride := of(api.GroupPlacement, api.AuditOverride, clusterOverrideRules)
	clusterOverride.fill = fills(func(o *api.ClusterResourceOverride) { defaultOverride(o.Spec.Placement.Any(), &o.Spec.Policy) })
	clusterOverride.change = changes(clusterOverrideChange)
	override := of(api.GroupPlacement, api.AuditOverride, overrideRules)
	override.fill = fills(func(o *api.ResourceOverride) { defaultOverride(o.Spec.Placement, &o.Spec.Policy) })
	override.change = changes(overrideChange)
	staged := of(api.GroupPlacement, api.AuditRun, stagedRunRules)
	staged.fill, staged.change = fills(defaultStagedRun), changes(stagedRunChange)
	stages := of(api.GroupPlacement, api.AuditStagedStrategy, stagedStrategyRules)
	stages.fill = fills(defaultStagedStrategy)
	eviction := of(api.GroupPlacement, api.AuditEviction, evictionRules)
	eviction.change = changes(evictionChange)
	approval := Kind{group: api.GroupPlacement, Type: reflect.TypeFor[api.ApprovalRequest](), read: (*reading).approval}
	return table{
		api.KindClusterResourcePlacement:    placement,
		api.KindResourcePlacement:           placement,
		api.KindMemberCluster:               {group: api.GroupCluster, Type: reflect.TypeFor[api.MemberCluster](), Token: api.AuditMember, read: (*reading).member, fill: fills(DefaultMember)},
		api.KindClusterResourceOverride:     clusterOverride,
		api.KindResourceOverride:            override,
		api.KindClusterStagedUpdateRun:      staged,
		api.KindStagedUpdateRun:             staged,
		api.KindClusterStagedUpdateStrategy: stages,
		api.KindStagedUpdateStrategy:        stages,
		api.KindEviction:                    eviction,
		api.KindDisruptionBudget:            of(api.GroupPlacement, api.AuditBudget, budgetRules),
		api.KindRolloutCheck:                of(api.GroupFlotilla, api.AuditCheck, rolloutCheckRules),
		api.KindUpdateRun:                   run,
		api.KindClusterApprovalRequest:      approval,
		api.KindApprovalRequest:             approval,
		api.KindUpdateStrategy:              of(api.GroupFlotilla, "strategy", strategyRules),
		api.KindAutoUpgradeProfile:          profile,
		api.KindVersionCatalog:              of(api.GroupFlotilla, "catalog", versionsRules),
		api.KindMemberMaintenance:           of(api.GroupFlotilla, "maintenance", maintenanceRules),
		api.KindGate:                        {group: api.GroupFlotilla, shared: true, Type: reflect.TypeFor[api.Gate](), read: (*reading).gate},
		api.KindNodePool:                    {group: api.GroupKarpenter, shared: true, Type: reflect.TypeFor[api.NodePool](), Token: api.AuditNodePool, read: (*reading).pool},
		api.KindInstanceCatalog:             instances(),
	}
}

func instances() Kind { return of(api.GroupFlotilla, "instances", instancesRules) }

// of is a kind whose documents are read as a T and held to what judge demands.
func of[T any, P api.PointerTo[T]](group, token string, judge func(P) (rules, []string)) Kind {
	return Kind{group: group, Type: reflect.TypeFor[T](), Token: token, read: reads(judge)}
}

// Kinds are the kinds that Flotilla gives a meaning to, by name.
func Kinds() map[string]Kind { return maps.Clone(kinds()) }

// Versions are the apiVersions in which documents of the kind are accepted, newest first.
func (k Kind) Versions() []string {
	all := slices.Clone(versions[k.group])
	for i := range all {
		all[i] = k.group + "/" + all[i]
	}
	return all
}

// Known reports whether documents of a kind are decoded strictly; all others are content.
func Known(apiVersion, kind string) bool { return kinds().known(apiVersion, kind) }

func (t table) known(apiVersion, kind string) bool {
	group, version := api.SplitAPIVersion(apiVersion)
	return t[kind].group == group && group != "" && slices.Contains(versions[group], version)
}

// TokenOf is the token of a kind, empty for content.
func TokenOf(apiVersion, kind string) string {
	if !Known(apiVersion, kind) {
		return ""
	}
	return kinds()[kind].Token
}

// Fill fills in what a document of a known kind leaves out, as far as that needs no other object.
func Fill(d *Decoded) {
	if fill := kinds()[d.Object.Kind].fill; fill != nil && d.Value != nil {
		fill(d.Value)
	}
}

// Change returns the rules that changing the stored object into d breaks. Give it d before Fill: a policy that was
// left out is not a policy PickAll.
func Change(stored *api.Spec, d *Decoded) strict.Faults {
	if change := kinds()[d.Object.Kind].change; change != nil && d.Value != nil {
		return change(stored, d.Value)
	}
	return nil
}

// reads takes a document in as a T, its status left out unread, for that is the hub's own, and holds it to what judge
// demands, which also remarks on it.
func reads[T any, P api.PointerTo[T]](judge func(P) (rules, []string)) func(*reading) {
	return func(r *reading) {
		r.tree.Remove("status")
		value := P(new(T))
		r.strict(value)
		r.out.Value = value
		broken, notes := judge(value)
		r.check(broken)
		r.out.Notes = notes
	}
}

func fills[T any](fill func(*T)) func(any) {
	return func(value any) { fill(value.(*T)) }
}

// changes holds a change to its rules; a stored object that cannot be read forbids nothing.
func changes[T any, P api.PointerTo[T]](change func(is, was *T) strict.Faults) func(*api.Spec, any) strict.Faults {
	return func(stored *api.Spec, value any) strict.Faults {
		was, err := api.SpecOf[T, P](stored)
		if err != nil {
			return nil
		}
		return change(value.(*T), was)
	}
}

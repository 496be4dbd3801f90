package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/strict"
)

// KindInstanceCatalog is the kind of the list of machines and their prices.
const KindInstanceCatalog = "InstanceCatalog"

// Capacity types of offerings.
const (
	CapacityReserved = "reserved"
	CapacitySpot     = "spot"
	CapacityOnDemand = "on-demand"
)

// InstanceCatalog lists the machines that a provider offers, flotilla.io/v1alpha1.
type InstanceCatalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              InstanceCatalogSpec `json:"spec"`
}

// InstanceCatalogSpec holds the types.
type InstanceCatalogSpec struct {
	// Complete says that what is not listed cannot be bought: a node of a type, or in a zone and capacity type,
	// that is not among Types has drifted (N20). Otherwise nothing is known of such a node but that it has no price.
	Complete bool           `json:"complete,omitempty"`
	Types    []InstanceType `json:"types"`
	// Reserved is what a node keeps of its capacity for itself; 100m CPU and 10Mi memory when absent.
	Reserved *InstanceReserve `json:"reserved,omitempty"`
}

// InstanceReserve is the part of a machine that pods do not get.
type InstanceReserve struct {
	CPU    strict.Amount `json:"cpu,omitempty"`
	Memory strict.Amount `json:"memory,omitempty"`
}

// InstanceType is one kind of machine.
type InstanceType struct {
	Name   string        `json:"name"`
	CPU    strict.Amount `json:"cpu"`
	Memory strict.Amount `json:"memory"`
	// Pods is how many pods fit, 110 when absent.
	Pods *int32 `json:"pods,omitempty"`
	// Arch is amd64 when empty, OS linux.
	Arch      string                   `json:"arch,omitempty"`
	OS        string                   `json:"os,omitempty"`
	Labels    map[string]string        `json:"labels,omitempty"`
	Resources map[string]strict.Amount `json:"resources,omitempty"` // further capacity, "nvidia.com/gpu": "1"
	Offerings []InstanceOffering       `json:"offerings"`
}

// InstanceOffering is one way to buy a type.
type InstanceOffering struct {
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// Price is per hour.
	Price strict.Price `json:"price"`
	// Available is true when absent.
	Available *bool `json:"available,omitempty"`
}

// IsAvailable reports whether the offering can be bought now.
func (o *InstanceOffering) IsAvailable() bool { return o.Available == nil || *o.Available }

package api

import "fmt"

func validateCatalog(c *InstanceCatalog) rules {
	var root *place
	f := validateOutside(KindInstanceCatalog, &c.ObjectMeta)
	f.subdomain(c.Name, root.in("metadata", "name"))
	f.membersAnnotation(c.Annotations, root.in("metadata", "annotations"))
	types := root.in("spec", "types")
	seen := make(map[string]int)
	for i := range c.Spec.Types {
		t, at := &c.Spec.Types[i], types.item(i)
		if t.Name == "" {
			f.add(at.child("name"), "nothing", "a name", nil)
		}
		f.labelValue(t.Name, at.child("name"))
		if j, ok := seen[t.Name]; ok {
			f.add(at.child("name"), quote(t.Name), fmt.Sprintf("each type once; item %d has this name", j), nil)
		}
		seen[t.Name] = i
		if t.Pods != nil && *t.Pods < 0 {
			f.add(at.child("pods"), number(*t.Pods), "0 or more", nil)
		}
		f.labels(t.Labels, at.child("labels"))
		for j := range t.Offerings {
			f.offering(&t.Offerings[j], at.child("offerings").item(j))
		}
	}
	return f
}

func (fs rules) offering(o *InstanceOffering, at *place) {
	fs.labelValue(o.Zone, at.child("zone"))
	if o.CapacityType == "" {
		fs.add(at.child("capacityType"), "nothing", oneOf(offeringTypes), nil)
	}
	fs.choice(o.CapacityType, at.child("capacityType"), offeringTypes...)
}

var offeringTypes = []string{CapacityReserved, CapacitySpot, CapacityOnDemand}

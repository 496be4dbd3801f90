package podspec

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// anyAddress is the address of a port that is taken on all of them.
const anyAddress = "0.0.0.0"

// Clash reports whether some of the ports of two pods are the same of a node.
func Clash(some, others []api.HostPort) bool {
	return slices.ContainsFunc(some, func(a api.HostPort) bool {
		return slices.ContainsFunc(others, func(b api.HostPort) bool {
			return a.Port == b.Port && a.Protocol == b.Protocol && (a.IP == b.IP || a.IP == anyAddress || b.IP == anyAddress)
		})
	})
}

// HostPorts are the ports of its node that a pod takes.
func HostPorts(spec *corev1.PodSpec) []api.HostPort {
	var out []api.HostPort
	for i := range spec.Containers {
		for _, p := range spec.Containers[i].Ports {
			if p.HostPort != 0 {
				out = append(out, api.HostPort{IP: cmp.Or(p.HostIP, anyAddress), Port: p.HostPort, Protocol: cmp.Or(string(p.Protocol), "TCP")})
			}
		}
	}
	return out
}

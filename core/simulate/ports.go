package simulate

import (
	"cmp"
	"maps"

	"flotilla/core/api"
)

// hostPorts are the host ports that are taken on a node, looked up by number: how often each is of each address, those
// of all addresses under "".
type hostPorts map[portNumber]map[string]int

type portNumber struct {
	port     int32
	protocol string
}

func numberOf(p *api.HostPort) (portNumber, string) {
	number, ip := portNumber{p.Port, cmp.Or(p.Protocol, "TCP")}, p.IP
	if ip == "0.0.0.0" || ip == "::" {
		ip = ""
	}
	return number, ip
}

// clash reports whether one of a pod's host ports is taken.
func (h hostPorts) clash(wanted []api.HostPort) bool {
	for i := range wanted {
		number, ip := numberOf(&wanted[i])
		if of := h[number]; len(of) > 0 && (ip == "" || of[""] > 0 || of[ip] > 0) {
			return true
		}
	}
	return false
}

// with takes ports in place; those that nil takes are new ones.
func (h hostPorts) with(ports []api.HostPort) hostPorts {
	if h == nil && len(ports) > 0 {
		h = hostPorts{}
	}
	for i := range ports {
		number, ip := numberOf(&ports[i])
		if h[number] == nil {
			h[number] = map[string]int{}
		}
		h[number][ip]++
	}
	return h
}

// free gives ports back that were taken.
func (h hostPorts) free(ports []api.HostPort) {
	for i := range ports {
		number, ip := numberOf(&ports[i])
		if h[number][ip]--; h[number][ip] == 0 {
			delete(h[number], ip)
		}
	}
}

func (h hostPorts) clone() hostPorts {
	out := maps.Clone(h)
	for number, of := range out {
		out[number] = maps.Clone(of)
	}
	return out
}

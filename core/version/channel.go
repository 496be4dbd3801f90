package version

import "flotilla/core/api"

// ChannelTarget returns the Kubernetes version a channel stands for now: of GA versions, for
// TargetKubernetesVersion with long term support of LTS ones too. False when there is none, and for
// channels of images.
func (c *Catalog) ChannelTarget(channel, minor string, longTermSupport bool) (Version, bool) {
	if c == nil {
		return Version{}, false
	}
	switch channel {
	case api.ChannelRapid:
		return c.newestOf(func(r *Release) bool { return r.State == api.ReleaseGA })
	case api.ChannelStable:
		top, ok := c.newestOf(func(r *Release) bool { return r.State == api.ReleaseGA })
		if !ok {
			return Version{}, false
		}
		return c.newestOf(func(r *Release) bool {
			return r.State == api.ReleaseGA && r.Major == top.Major && r.Minor == top.Minor-1
		})
	case api.ChannelTarget:
		wanted, ok := Parse(minor)
		if !ok {
			return Version{}, false
		}
		return c.newestOf(func(r *Release) bool {
			return r.sameMinor(wanted) && (r.State == api.ReleaseGA || longTermSupport && r.State == api.ReleaseLTS)
		})
	default:
		return Version{}, false
	}
}

// newestOf returns the highest version that fits.
func (c *Catalog) newestOf(fits func(*Release) bool) (Version, bool) {
	for i := len(c.releases) - 1; i >= 0; i-- {
		if fits(&c.releases[i]) {
			return c.releases[i].Version, true
		}
	}
	return Version{}, false
}

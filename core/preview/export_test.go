package preview

import "flotilla/core/api"

// Input is what Show shows of files.
func (f *Files) Input(p *api.Placement, m *api.Member) (*Input, error) { return f.input(p, m) }

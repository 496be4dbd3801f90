package nobuild

import "testing"

func TestNothing(t *testing.T) { t.Log(undeclared) }

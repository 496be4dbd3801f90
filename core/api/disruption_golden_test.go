package api

import "maps"

func init() {
	maps.Copy(goldenKinds, map[string]func() any{
		KindNodeEvent:         filled[NodeEvent],
		KindNodeInventory:     filled[NodeInventory],
		KindDisruptionRecord:  filled[DisruptionRecord],
		KindPoolRecord:        filled[PoolRecord],
		KindDisruptionCommand: filled[DisruptionCommand],
		KindDisruptionResult:  filled[DisruptionResult],
	})
}

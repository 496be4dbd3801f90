package keep

import (
	"context"
	"maps"
	"time"
)

const (
	// sweepEvery is how often content that nothing refers to is looked for. The store removes what two
	// passes an hour apart found unreferenced.
	sweepEvery = time.Hour
	// pressEvery is how often it is asked whether room is short, and restParts how many times as long as a pass lasted the pause
	// after it is: nothing is stored while a pass reads what is referred to.
	pressEvery = 5 * time.Second
	restParts  = 20
	// crowded is how full the content is, in percent, when what nothing refers to goes soon.
	crowded = 80
	// nearly is how many times the reserve is free where that is so of the room of the servers: others may fill most of a disk.
	nearly = 4
)

func (k *Keeper) sweepAlways(ctx context.Context) {
	hourly, often := time.NewTicker(sweepEvery), time.NewTicker(pressEvery)
	defer hourly.Stop()
	defer often.Stop()
	var rested time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-hourly.C:
			k.Sweep(ctx, k.store.Now())
			continue
		case <-k.store.Content.Wanted():
		case <-often.C:
		}
		if began := k.store.Now(); !began.Before(rested) {
			k.Press(ctx, began)
			ended := k.store.Now()
			rested = ended.Add(restParts * ended.Sub(began))
		}
	}
}

// Press is a pass where one is due before the hour is over: where room is short, or somebody has too much stored that nothing refers to.
func (k *Keeper) Press(ctx context.Context, now time.Time) {
	percent, err := k.store.Content.Percent(ctx)
	if err != nil {
		k.log.Warn().Err(err).Msg("sweeping content")
		return
	}
	switch room := k.room(); {
	case percent >= crowded, room.Total > 0 && room.Free < nearly*room.Reserve:
		k.swept(k.store.Content.SweepSoon(ctx, now, k.needed, k.store.Leads))
	case k.store.Content.Wants():
		k.Sweep(ctx, now)
	}
}

// Sweep is one pass: it removes what a pass an hour or more before found unreferenced too.
func (k *Keeper) Sweep(ctx context.Context, now time.Time) {
	k.swept(k.store.Content.Sweep(ctx, now, k.needed, k.store.Leads))
}

func (k *Keeper) swept(removed []string, err error) {
	if err != nil {
		k.log.Warn().Err(err).Msg("sweeping content")
		return
	}
	if len(removed) > 0 {
		k.log.Info().Int("bodies", len(removed)).Msg("swept content that nothing refers to")
	}
}

// needed are roots, and whether all of them are sealed with the newest secret.
func (k *Keeper) needed() (map[string]bool, bool, error) {
	in, err := k.store.Sealing()
	if err != nil {
		return nil, false, err
	}
	roots, err := k.roots()
	return roots, len(in.Content) == 1, err
}

// roots are the digests of all content that something refers to: heads, retained snapshots, and what a
// release lets members run.
func (k *Keeper) roots() (map[string]bool, error) {
	all, err := k.Referred()
	maps.Copy(all.Bodies, all.Works)
	return all.Bodies, err
}

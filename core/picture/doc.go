// Package picture makes what is drawn over time out of what the fleet does: the members and gates of a run, its course in
// lanes, when members may be upgraded by the hour, and members of a group in a grid. Places and lengths are those of SVG; who
// shows them knows how they are coloured.
package picture

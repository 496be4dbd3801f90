// Package page is the fleet to look at: HTML, SVG and a stream of what changes, served by every hub. It reads with a reader's
// rights, decides nothing and writes nothing: what a person does on it are requests to the door in that person's name.
//
// A screen answers one question. It draws itself from the URL and from what the hub says, in parts; a browser is sent the parts
// that changed, whole, so that a screen is the same whether it was loaded or kept up.
package page

// Package preview shows what a member is given of a placement, or would be: the objects that are selected, envelopes opened, as
// overrides leave them there, beside what they are without overrides, and which override did what.
//
// The door asks it over what it stores and a draft, the command line over files. What a member is given comes from
// core/content and core/render, as in the renderer. Values of Secrets are digests in all that it returns.
package preview

package api

// VerbWindows asks when members may be upgraded, with nothing; the answer is Maintained of core/picture.
const VerbWindows = "windows"

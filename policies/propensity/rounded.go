package propensity

// Rounded is the factor Γ₀ that logged propensities may be off by through rounding: inspection takes such a log for
// exact, and certificates stay valid up to it where they say so.
const Rounded = 1.01

//! Making the coin's key together, with everybody present (spec D).
//!
//! Each server shares a secret of its own with Feldman's scheme; the coin's exponent is their sum.
//! All commit before any opens, all must sign the same transcript, and a bad dealing is shown to
//! everybody by its receiver, who gives away the exchange key that it made for this attempt alone.
//! [`Attempts`] sees to it that of several attempts one key counts.

mod attempts;
mod dealing;
mod machine;
mod message;

pub use attempts::{Attempts, Founding};
pub use machine::{Dkg, DkgStep, Failure, Finished, Outcome};
pub use message::{Complaint, DkgMessage, Done, MAX_DKG_MESSAGE, Opening, Word};

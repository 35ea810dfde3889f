//! The other members, as everybody sees them.

use futures::future::BoxFuture;
use ostrakon_computation::{Cancellation, ComputationId, Order, Statement};
use ostrakon_crypto::{Digest, VerifyingKey};

/// A member did not answer, or not in a form that is known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreached(pub String);

/// Reads what other members show, by their number. What they answer is checked by whoever asked.
pub trait Peers: Send + Sync {
    /// A member's own statements on a computation; never more than `limit` bytes of JSON.
    fn statements<'a>(
        &'a self,
        member: usize,
        computation: &'a ComputationId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Statement>, Unreached>>;

    /// A contributor's input by the digest of its body, as [`ostrakon_computation::Input::encode`]
    /// writes it, if the member has it; never more than `limit` bytes.
    fn input<'a>(
        &'a self,
        member: usize,
        computation: &'a ComputationId,
        input: (VerifyingKey, Digest),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<u8>, Unreached>>;

    /// Passes the creator's order on.
    fn order(&self, member: usize, order: Order) -> BoxFuture<'_, Result<(), Unreached>>;

    /// Passes the creator's cancellation on.
    fn cancel(&self, member: usize, order: Cancellation) -> BoxFuture<'_, Result<(), Unreached>>;
}

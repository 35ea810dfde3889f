//! The channel that an engine sends through and receives from.

use bytes::Bytes;
use futures::future::BoxFuture;
use ostrakon_crypto::Digest;

use crate::{Instance, PartyId, SignedHeader, Tag};

/// A message on its way.
#[derive(Clone, Debug)]
pub struct Message {
    /// Header and signature.
    pub signed: SignedHeader,
    /// The body.
    pub body: Bytes,
    /// How many messages in a row, this one included, caused it: the round it belongs to. Only
    /// measured, never trusted.
    pub depth: u32,
}

/// Carries messages between the parties.
///
/// A channel promises secrecy and authenticity of the peer, and that an honest peer's posted
/// message reaches an honest peer that collects it as long as both run, be it after reconnections
/// or by way of a third party. It promises no order and no time. It does not check signatures or
/// digests: [`crate::Party`] does.
pub trait Channel: Send + Sync {
    /// Posts a message to one peer and returns at once. The channel keeps the message (bodies are
    /// shared, not copied) and delivers it as often as the peer asks for it, until
    /// [`Channel::retire`]. Posting the same tag to the same peer again replaces what is kept.
    fn post(&self, to: PartyId, message: Message);

    /// Like [`Channel::post`], for a message that the peer may not need: it travels only if the
    /// peer collects it.
    fn offer(&self, to: PartyId, message: Message);

    /// Waits for the message that `from` sent under `tag`. A body longer than `limit` bytes is
    /// refused before it is stored. If called again for the same tag, waits for another message
    /// under that tag (the first one having been found to be forged).
    fn collect(&self, from: PartyId, tag: Tag, limit: u64) -> BoxFuture<'_, Message>;

    /// The same of a message whose body may be one that this party has, of the digest `known`. Such
    /// a message may come without its body.
    fn collect_known(
        &self,
        from: PartyId,
        tag: Tag,
        limit: u64,
        known: Digest,
    ) -> BoxFuture<'_, Message> {
        let _ = known;
        self.collect(from, tag, limit)
    }

    /// Resolves when the channel judges that whoever is being waited for has been silent for long:
    /// after some seconds over a network, or when nothing else moves in a simulated world. It means
    /// nothing but this.
    fn patience(&self) -> BoxFuture<'_, ()>;

    /// Forgets everything that was posted or received under this instance and ignores what still
    /// arrives.
    fn retire(&self, instance: Instance);
}

/// A channel that goes through another one, and does some things differently.
pub trait Wrapping: Send + Sync {
    /// The channel that does the rest.
    fn inner(&self) -> &dyn Channel;

    /// As [`Channel::post`].
    fn post(&self, to: PartyId, message: Message) {
        self.inner().post(to, message);
    }

    /// As [`Channel::offer`].
    fn offer(&self, to: PartyId, message: Message) {
        self.inner().offer(to, message);
    }

    /// As [`Channel::collect`].
    fn collect(&self, from: PartyId, tag: Tag, limit: u64) -> BoxFuture<'_, Message> {
        self.inner().collect(from, tag, limit)
    }
}

impl<W: Wrapping> Channel for W {
    fn post(&self, to: PartyId, message: Message) {
        Wrapping::post(self, to, message);
    }

    fn offer(&self, to: PartyId, message: Message) {
        Wrapping::offer(self, to, message);
    }

    fn collect(&self, from: PartyId, tag: Tag, limit: u64) -> BoxFuture<'_, Message> {
        Wrapping::collect(self, from, tag, limit)
    }

    fn patience(&self) -> BoxFuture<'_, ()> {
        self.inner().patience()
    }

    fn retire(&self, instance: Instance) {
        self.inner().retire(instance);
    }
}

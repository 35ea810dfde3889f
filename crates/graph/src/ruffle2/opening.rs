//! Opening tables that are shared: each server gets the share that it lacks from one member of the
//! pair, and its digest from the other one.

use bytes::Bytes;
use futures::future::try_join_all;
use ostrakon_field::WordField;
use ostrakon_party::{Body, Header};
use ostrakon_replicated::pair::Pair;

use super::fault::Stop;
use super::run::Run;
use super::steps::{Kind, Rule};

/// A table in shares, as one server has them, by [`Pair::index`].
pub type OwnShares = [Option<Bytes>; 3];

/// The server from which another one gets the table that it lacks, and the one that sends the
/// digest.
pub fn makers(of: u8) -> (u8, u8) {
    ((of + 1) % 3, (of + 2) % 3)
}

/// Opens tables to all three servers, all in one round. Numbers must not repeat in a run.
///
/// # Errors
/// [`Stop::Evidence`] if the two members of a pair do not say the same; [`Stop::Malformed`].
pub async fn open<F: WordField>(
    run: &Run,
    tables: Vec<(u32, OwnShares)>,
) -> Result<Vec<Vec<u8>>, Stop> {
    for (number, shares) in &tables {
        for peer in run.peers() {
            let missing = shares[Pair::without(peer).index()].clone().expect("an own pair's share");
            if makers(peer).0 == run.me() {
                run.send(peer, Kind::Opening, *number, Body::new(missing));
            } else {
                let digest = Header::digest_of(&missing);
                run.send(peer, Kind::OpeningDigest, *number, digest.0.to_vec());
            }
        }
    }
    let opened = tables.into_iter().map(|(number, mut shares)| async move {
        // Of the two own shares one is on its way to a peer; the other's place is free for the sum.
        let of = |peer: u8| Pair::without(peer).index();
        let [sent, kept] = match run.peers() {
            [a, b] if makers(a).0 == run.me() => [of(a), of(b)],
            [a, b] => [of(b), of(a)],
        };
        let [sent, kept] = [sent, kept].map(|at| shares[at].take().expect("an own pair's share"));
        let kinds = (Kind::Opening, Kind::OpeningDigest);
        let rule = Rule::table::<F>(kept.len() / ostrakon_field::ELEMENT_BYTES);
        let missing = run.receive_vouched(kinds, makers(run.me()), number, rule).await?;
        let mut sum = Vec::from(kept);
        F::add_into(&mut sum, &sent);
        F::add_into(&mut sum, &missing);
        Ok::<_, Stop>(sum)
    });
    // All at once: a long message travels when it is asked for.
    try_join_all(opened).await
}

//! A join link as servers show it (`docs/spec/decide.md`, steps 4a to 4d): what of that is
//! believed, and what people say by it; and which servers are asked.

mod canvass;

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::{Signature, SigningKey, VerifyingKey};
use ostrakon_decide::gathering::{
    Gathering, GatheringId, InvalidGathering, Request, SignedGathering, SignedWord, Word, decode,
    reading_digest,
};
use ostrakon_decide::keys::joining_seed;
use ostrakon_decide::{Invitation, Operators};
use ostrakon_party::wire;
use ostrakon_protocol::decisions::{GatheringInfo, RequestsInfo};
use serde::{Deserialize, Serialize};

use crate::asking::normalised;

pub use canvass::{Canvass, CanvassAction, CanvassNews, JoiningAnswer, JoiningCall, LOOK_AGAIN};

/// What a creator makes a join link of.
#[derive(Clone, Debug)]
pub struct JoiningPlan {
    /// What will be asked.
    pub question: String,
    /// The public half of the link's key.
    pub link: VerifyingKey,
    /// Until when people can ask, in seconds since 1970.
    pub until: u64,
    /// Random bytes.
    pub nonce: [u8; 16],
}

/// A join link that holds.
pub struct Joining {
    operators: Operators,
    id: GatheringId,
    signed: SignedGathering,
    word: Option<Word>,
}

fn decoded<T: Serialize + for<'a> Deserialize<'a>>(text: &str) -> Option<T> {
    decode(&BASE64URL_NOPAD.decode(text.as_bytes()).ok()?).ok()
}

impl Joining {
    /// A new one, of its creator; `now` in seconds since 1970.
    ///
    /// # Errors
    /// [`InvalidGathering`] says which limit it breaks.
    pub fn make(
        operators: Operators,
        creator: &SigningKey,
        JoiningPlan { question, link, until, nonce }: JoiningPlan,
        now: u64,
    ) -> Result<Self, InvalidGathering> {
        let (key, servers) = (creator.verifying_key(), operators.digest);
        let question = normalised(&question);
        let gathering = Gathering { question, creator: key, link, until, nonce, servers };
        let signed = gathering.sign(&operators, creator);
        signed.verify(&operators)?;
        signed.check_time(now)?;
        Ok(Self { operators, id: signed.gathering.id(&operators), signed, word: None })
    }

    /// The one with this name, of all that servers show; `None` if none shows it, signed by its
    /// creator. Its name proves it, so that one server is enough.
    pub fn read(operators: Operators, id: GatheringId, shown: &[GatheringInfo]) -> Option<Self> {
        let holds = |signed: &SignedGathering| {
            signed.verify(&operators).is_ok() && signed.gathering.id(&operators) == id
        };
        let signed = shown.iter().filter_map(|info| decoded(&info.gathering)).find(holds)?;
        let mut joining = Self { operators, id, signed, word: None };
        joining.hear(shown.iter().filter_map(|info| info.word.as_deref()));
        Some(joining)
    }

    /// Whether a secret is the link's. One that was copied in part is not.
    pub fn is_opened_by(&self, secret: &Invitation) -> bool {
        secret.key().verifying_key() == self.signed.gathering.link
    }

    /// Its name.
    pub fn id(&self) -> GatheringId {
        self.id
    }

    /// What it is for.
    pub fn gathering(&self) -> &Gathering {
        &self.signed.gathering
    }

    /// As servers are given it.
    pub fn bytes(&self) -> Vec<u8> {
        wire::encode(&self.signed)
    }

    /// The latest that its creator has said, of all that servers have shown.
    pub fn word(&self) -> Option<&Word> {
        self.word.as_ref()
    }

    /// Takes in what servers show now, in base64url. What its creator has not signed counts for
    /// nothing, nor does what is older than what was heard.
    pub fn hear<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        let (operators, gathering) = (&self.operators, &self.signed.gathering);
        let words = words.into_iter().filter_map(decoded::<SignedWord>);
        let words = words.filter(|signed| gathering.check_word(operators, signed).is_ok());
        for SignedWord { word, .. } in words {
            if self.word.as_ref().is_none_or(|heard| heard.number < word.number) {
                self.word = Some(word);
            }
        }
    }

    /// The account under which a device asks, and takes part.
    pub fn account(&self, device: &SigningKey) -> SigningKey {
        SigningKey::from_seed(joining_seed(device, &self.operators, &self.id).expose())
    }

    /// The request of an account, by the link's secret; `time` in seconds since 1970.
    ///
    /// # Errors
    /// [`InvalidGathering`] says what is wrong with it.
    pub fn ask(
        &self,
        account: &SigningKey,
        secret: &Invitation,
        name: &str,
        time: u64,
    ) -> Result<Request, InvalidGathering> {
        let name = normalised(name);
        let request = Request::new(&self.operators, (self.id, secret), account, &name, time);
        self.signed.gathering.check_request(&self.operators, &request)?;
        Ok(request)
    }

    /// By what the creator is shown who asks; `time` in seconds since 1970.
    pub fn sign_reading(&self, creator: &SigningKey, time: u64) -> Signature {
        creator.sign(&reading_digest(&self.operators, &self.id, time))
    }

    /// Who asks, of all that servers show: the earliest first. Each server keeps its own list, so
    /// what one passes over, another one shows.
    pub fn requests(&self, shown: &[RequestsInfo]) -> Vec<Request> {
        let texts = shown.iter().flat_map(|info| &info.requests);
        let bytes: Vec<_> =
            texts.filter_map(|text| BASE64URL_NOPAD.decode(text.as_bytes()).ok()).collect();
        self.signed.gathering.requests(&self.operators, bytes.iter().map(Vec::as_slice))
    }

    /// The number of what the creator says next: above all that was heard, and above `kept`, under
    /// which its device has said something that perhaps no server shows.
    ///
    /// # Errors
    /// [`InvalidGathering`] if no more can be said.
    pub fn next_number(&self, kept: u32) -> Result<u32, InvalidGathering> {
        let heard = self.word.as_ref().map_or(0, |word| word.number);
        let full = || InvalidGathering("no more can be said by this join link".into());
        heard.max(kept).checked_add(1).ok_or_else(full)
    }

    /// As the creator: the word that follows what was heard, with this done to it. It is heard once
    /// a server has it.
    ///
    /// # Errors
    /// [`InvalidGathering`] says what is wrong with it.
    pub fn say(
        &self,
        creator: &SigningKey,
        kept: u32,
        change: impl FnOnce(&mut Word),
    ) -> Result<SignedWord, InvalidGathering> {
        let (gathering, number) = (self.id, self.next_number(kept)?);
        let (admitted, refused, decision) = Default::default();
        let first = Word { gathering, number, admitted, refused, decision };
        let mut word = self.word.clone().unwrap_or(first);
        word.number = number;
        change(&mut word);
        let signed = word.sign(&self.operators, creator);
        self.signed.gathering.check_word(&self.operators, &signed)?;
        Ok(signed)
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Digest;
    use ostrakon_party::{Servers, SessionId};

    use super::*;

    const NOW: u64 = 1_700_000_000;
    const DAY: u64 = 24 * 3_600;

    fn key(number: u8) -> SigningKey {
        SigningKey::from_seed(&[number; 32])
    }

    fn operators() -> Operators {
        let keys = (1..=3).map(|party| key(party).verifying_key()).collect();
        Operators::new(&Servers { session: SessionId(Digest([9; 32])), keys }).unwrap()
    }

    fn plan(question: &str, days: u64) -> JoiningPlan {
        let (question, link) = (question.to_owned(), Invitation([5; 32]).key().verifying_key());
        JoiningPlan { question, link, until: NOW + days * DAY, nonce: [1; 16] }
    }

    fn made(creator: u8, question: &str) -> Joining {
        Joining::make(operators(), &key(creator), plan(question, 3), NOW).unwrap()
    }

    fn text(bytes: &[u8]) -> String {
        BASE64URL_NOPAD.encode(bytes)
    }

    /// As a server shows it, with what the creator said under a number.
    fn shown(joining: &Joining, word: Option<u32>) -> GatheringInfo {
        let word = word.map(|number| said(joining, 7, number));
        GatheringInfo { gathering: text(&joining.bytes()), word }
    }

    /// A word by whoever has this key, under a number.
    fn said(joining: &Joining, by: u8, number: u32) -> String {
        let (admitted, refused, decision) = Default::default();
        let word = Word { gathering: joining.id(), number, admitted, refused, decision };
        text(&wire::encode(&word.sign(&operators(), &key(by))))
    }

    #[test]
    fn one_server_that_shows_the_link_is_enough_and_none_shows_another_one() {
        let (made, other) = (made(7, "When?"), made(8, "When?"));
        let mut forged = made.signed.clone();
        forged.gathering.question = "Where?".into();
        let wrong =
            ["?".to_owned(), text(b"junk"), text(&other.bytes()), text(&wire::encode(&forged))]
                .map(|gathering| GatheringInfo { gathering, word: None });
        assert!(Joining::read(operators(), made.id(), &wrong).is_none());
        // A name of its own does not make it the creator's.
        let id = forged.gathering.id(&operators());
        assert!(Joining::read(operators(), id, &wrong).is_none());
        let [first, others @ ..] = wrong;
        let all = [&[first, shown(&made, Some(2))][..], &others[..]].concat();
        let read = Joining::read(operators(), made.id(), &all).unwrap();
        assert_eq!(read.gathering(), made.gathering());
        assert_eq!(read.word().unwrap().number, 2);
        assert!(read.is_opened_by(&Invitation([5; 32])));
        assert!(!read.is_opened_by(&Invitation([6; 32])));
    }

    #[test]
    fn the_latest_word_of_the_creator_counts_whoever_shows_it() {
        let made = made(7, "When?");
        let all = [3, 5, 4].map(|number| shown(&made, Some(number)));
        let mut read = Joining::read(operators(), made.id(), &all).unwrap();
        let heard = |read: &Joining| read.word().unwrap().number;
        assert_eq!(heard(&read), 5);
        let elsewhere = self::made(7, "Where?");
        let wrong = [said(&made, 8, 9), said(&elsewhere, 7, 9), text(b"junk"), "?".into()];
        read.hear(wrong.iter().map(String::as_str));
        assert_eq!(heard(&read), 5, "what the creator has not signed for this link");
        read.hear([said(&made, 7, 4).as_str()]);
        assert_eq!(heard(&read), 5, "what is older");
        read.hear([said(&made, 7, 6).as_str(), said(&made, 7, 2).as_str()]);
        assert_eq!(heard(&read), 6);
    }

    #[test]
    fn what_is_said_next_follows_what_was_heard_and_what_was_said_here() {
        let (mut made, ben) = (made(7, "When?"), key(10).verifying_key());
        let admit = |word: &mut Word| {
            word.admitted.insert(ben);
        };
        let number = |made: &Joining, kept| made.say(&key(7), kept, admit).map(|it| it.word.number);
        assert_eq!((number(&made, 0), made.next_number(0)), (Ok(1), Ok(1)));
        assert_eq!(number(&made, 3), Ok(4), "no server may show what was said here");
        made.hear([said(&made, 7, 5).as_str()]);
        assert_eq!((number(&made, 3), made.next_number(3)), (Ok(6), Ok(6)));
        assert!(made.next_number(u32::MAX).is_err() && number(&made, u32::MAX).is_err());
        // Whom it has taken in before stays so.
        let first = made.say(&key(7), 0, admit).unwrap();
        made.hear([text(&wire::encode(&first)).as_str()]);
        let decision = Some(ostrakon_decide::DecisionId([4; 16]));
        let last = made.say(&key(7), 0, |word| word.decision = decision).unwrap().word;
        assert_eq!((last.admitted, last.decision), ([ben].into(), decision));
        assert!(made.say(&key(8), 0, admit).is_err(), "somebody else");
    }

    #[test]
    fn a_link_that_no_server_would_keep_is_not_made_nor_a_request_of_one_that_is_incomplete() {
        let fails = |question: &str, days| {
            Joining::make(operators(), &key(7), plan(question, days), NOW).is_err()
        };
        assert!(!fails("When?", 60));
        assert!(fails("When?", 0) && fails("When?", 61) && fails(" ", 3));
        let made = made(7, "When?");
        let account = made.account(&key(10));
        let ask = |secret, name| made.ask(&account, &Invitation([secret; 32]), name, NOW);
        let request = ask(5, " Zoe\u{308}").unwrap();
        assert_eq!(request.name, "Zoë", "texts are written in one way");
        assert!(ask(6, "Ben").is_err() && ask(5, "").is_err());
        let lists = [vec!["?".into()], vec![text(&wire::encode(&request))]];
        let lists = lists.map(|requests| RequestsInfo { requests });
        assert_eq!(made.requests(&lists), [request]);
    }
}

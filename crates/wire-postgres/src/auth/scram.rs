//! SCRAM-SHA-256: both sides prove that they know the password, and neither learns it.
//!
//! <https://www.rfc-editor.org/rfc/rfc5802>, <https://www.rfc-editor.org/rfc/rfc7677>

use std::num::NonZeroU32;

use aws_lc_rs::{constant_time, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::mechanism::Mechanism;
use super::salted::{KeyCache, Keys, mac};
use crate::WireError;

/// PostgreSQL's usual number is 4096. More than this, and a server could hold up everybody who logs
/// in from here for minutes.
const MOST_ITERATIONS: u32 = 1_000_000;
/// Bytes of randomness in a nonce, before they are written as base64.
const NONCE: usize = 18;
/// The server knows the user from the startup message.
const NO_USER: &str = "n=,r=";

/// The message that starts the exchange.
#[derive(Debug)]
pub(crate) struct ClientFirst {
    mechanism: Mechanism,
    /// `client-first-message-bare`
    bare: Vec<u8>,
}

/// The message that ends the exchange, and the one that must follow it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) client_final: Vec<u8>,
    signature: [u8; 32],
}

impl ClientFirst {
    /// With a nonce of the system's randomness.
    pub(crate) fn new(mechanism: Mechanism) -> Result<Self, WireError> {
        let mut nonce = [0; NONCE];
        aws_lc_rs::rand::fill(&mut nonce).map_err(|_| WireError::NoRandomNumbers)?;
        Ok(Self::with_nonce(mechanism, NO_USER, &STANDARD.encode(nonce)))
    }

    fn with_nonce(mechanism: Mechanism, start: &str, nonce: &str) -> Self {
        Self { mechanism, bare: format!("{start}{nonce}").into_bytes() }
    }

    pub(crate) fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// `client-first-message`
    pub(crate) fn message(&self) -> Vec<u8> {
        [self.mechanism.header(), &self.bare].concat()
    }

    /// Answers the `server-first-message`.
    pub(crate) fn prove(
        &self,
        server_first: &[u8],
        password: &[u8],
        cache: &KeyCache,
    ) -> Result<Proof, WireError> {
        let ServerFirst { nonce, salt, iterations } = ServerFirst::parse(server_first)?;
        let own = self.bare.splitn(2, |&byte| byte == b',').nth(1).unwrap_or_default();
        let own = own.strip_prefix(b"r=").unwrap_or_default();
        if !nonce.starts_with(own) || nonce.len() == own.len() {
            return Err(bad("a nonce of somebody else's"));
        }
        let keys = cache.keys(password, &salt, iterations);
        let binding = STANDARD.encode(self.mechanism.binding_input());
        let without_proof = [b"c=", binding.as_bytes(), b",r=", nonce].concat();
        let said = [self.bare.as_slice(), server_first, &without_proof].join(&b',');
        let proof = STANDARD.encode(client_proof(&keys, &said));
        let client_final = [without_proof.as_slice(), b",p=", proof.as_bytes()].concat();
        Ok(Proof { client_final, signature: mac(&keys.server, &said) })
    }
}

/// `ClientKey xor HMAC(SHA-256(ClientKey), said)`
fn client_proof(keys: &Keys, said: &[u8]) -> [u8; 32] {
    let stored = digest::digest(&digest::SHA256, &keys.client);
    let signature = mac(stored.as_ref(), said);
    let mut proof = keys.client;
    for (byte, other) in proof.iter_mut().zip(signature) {
        *byte ^= other;
    }
    proof
}

impl Proof {
    /// Checks the `server-final-message`: only who knows the account's keys can sign.
    pub(crate) fn check(&self, server_final: &[u8]) -> Result<(), WireError> {
        let Some(signature) = attribute(server_final, b'v').map(|(signature, _)| signature) else {
            return Err(bad("no signature"));
        };
        let signature = STANDARD.decode(signature).map_err(|_| bad("a signature in no base64"))?;
        constant_time::verify_slices_are_equal(&signature, &self.signature)
            .map_err(|_| WireError::ServerNotProven { what: "the server's signature is wrong" })
    }
}

/// `server-first-message`
struct ServerFirst<'a> {
    nonce: &'a [u8],
    salt: Vec<u8>,
    iterations: NonZeroU32,
}

impl<'a> ServerFirst<'a> {
    fn parse(message: &'a [u8]) -> Result<Self, WireError> {
        let (nonce, rest) = attribute(message, b'r').ok_or_else(|| bad("no nonce"))?;
        let (salt, rest) = attribute(rest, b's').ok_or_else(|| bad("no salt"))?;
        let (iterations, _) = attribute(rest, b'i').ok_or_else(|| bad("no iterations"))?;
        let salt = STANDARD.decode(salt).map_err(|_| bad("a salt in no base64"))?;
        let iterations = std::str::from_utf8(iterations).ok().and_then(|text| text.parse().ok());
        let iterations: u64 = iterations.ok_or_else(|| bad("iterations that are no number"))?;
        if iterations > u64::from(MOST_ITERATIONS) {
            return Err(WireError::TooManyIterations { iterations, limit: MOST_ITERATIONS });
        }
        let iterations = u32::try_from(iterations).ok().and_then(NonZeroU32::new);
        let iterations = iterations.ok_or_else(|| bad("no iterations"))?;
        Ok(Self { nonce, salt, iterations })
    }
}

/// The value of the attribute that `text` starts with, and what follows it.
fn attribute(text: &[u8], name: u8) -> Option<(&[u8], &[u8])> {
    let [first, b'=', rest @ ..] = text else { return None };
    let end = rest.iter().position(|&byte| byte == b',');
    let (value, behind) = rest.split_at(end.unwrap_or(rest.len()));
    (*first == name).then_some((value, behind.get(1..).unwrap_or_default()))
}

fn bad(field: &'static str) -> WireError {
    WireError::BadField { message: "a message of SCRAM", field }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postgres_protocol::authentication::sasl;

    const SERVER_FIRST: &[u8] = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
        s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    fn of_rfc() -> ClientFirst {
        ClientFirst::with_nonce(Mechanism::Plain, "n=user,r=", "rOprNGfwEbeRWgbNEkqO")
    }

    fn proved(first: &ClientFirst, server_first: &[u8]) -> Result<Proof, WireError> {
        first.prove(server_first, b"pencil", &KeyCache::default())
    }

    /// <https://www.rfc-editor.org/rfc/rfc7677#section-3>
    #[test]
    fn the_exchange_is_that_of_the_rfc() {
        let first = of_rfc();
        assert_eq!(first.message(), b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let proof = proved(&first, SERVER_FIRST).unwrap();
        let expected = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
            p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(proof.client_final, expected);
        assert_eq!(proof.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Ok(()));
    }

    #[test]
    fn a_signature_that_is_wrong_or_missing_proves_no_server() {
        let proof = proved(&of_rfc(), SERVER_FIRST).unwrap();
        let wrong = proof.check(b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        assert!(matches!(wrong, Err(WireError::ServerNotProven { .. })));
        assert!(matches!(proof.check(b"v="), Err(WireError::ServerNotProven { .. })));
        for said in [b"".as_slice(), b"e=other-error", b"v=?", b"v"] {
            assert!(matches!(proof.check(said), Err(WireError::BadField { .. })), "{said:?}");
        }
    }

    #[test]
    fn what_a_server_must_not_say_is_refused() {
        let ours = "rOprNGfwEbeRWgbNEkqO";
        let cases = [
            (String::new(), "empty"),
            (format!("r={ours},s=QQ==,i=1"), "its nonce adds nothing"),
            ("r=rOprNGfwEbeRWgbNEkq,s=QQ==,i=1".to_owned(), "its nonce is shorter"),
            ("r=somebody-else,s=QQ==,i=1".to_owned(), "its nonce is of another exchange"),
            (format!("r={ours}x,s=?,i=1"), "its salt is no base64"),
            (format!("r={ours}x,s=QQ==,i=0"), "it hashes not at all"),
            (format!("r={ours}x,s=QQ==,i=-1"), "a number below zero"),
            (format!("r={ours}x,s=QQ=="), "no number"),
            (format!("s=QQ==,r={ours}x,i=1"), "another order"),
            (format!("m=ext,r={ours}x,s=QQ==,i=1"), "an extension that must be known"),
        ];
        for (said, why) in cases {
            let refused = proved(&of_rfc(), said.as_bytes());
            assert!(matches!(refused, Err(WireError::BadField { .. })), "{why}: {refused:?}");
        }
        let endless = format!("r={ours}x,s=QQ==,i={}", u32::MAX);
        let refused = proved(&of_rfc(), endless.as_bytes());
        assert!(matches!(refused, Err(WireError::TooManyIterations { .. })), "{refused:?}");
    }

    #[test]
    fn the_messages_are_those_of_postgres_protocol() {
        let bindings = || {
            [
                (Mechanism::Plain, sasl::ChannelBinding::unsupported()),
                (Mechanism::NotOffered, sasl::ChannelBinding::unrequested()),
                (
                    Mechanism::Bound { data: vec![7; 32] },
                    sasl::ChannelBinding::tls_server_end_point(vec![7; 32]),
                ),
            ]
        };
        for password in ["secret", "I\u{ad}X", "\u{2168}\u{7}", "pässword"] {
            for (mechanism, binding) in bindings() {
                let mut theirs = sasl::ScramSha256::new(password.as_bytes(), binding);
                let first = String::from_utf8(theirs.message().to_vec()).unwrap();
                let (_, nonce) = first.split_once("r=").unwrap();
                let ours = ClientFirst::with_nonce(mechanism, NO_USER, nonce);
                assert_eq!(ours.message(), first.as_bytes());
                let server_first = format!("r={nonce}more,s=c2FsdHNhbHQ=,i=4");
                let cache = KeyCache::default();
                let proof = ours.prove(server_first.as_bytes(), password.as_bytes(), &cache);
                theirs.update(server_first.as_bytes()).unwrap();
                assert_eq!(proof.as_ref().unwrap().client_final, theirs.message());
                let signature = format!("v={}", STANDARD.encode(proof.as_ref().unwrap().signature));
                assert_eq!(proof.unwrap().check(signature.as_bytes()), Ok(()));
                theirs.finish(signature.as_bytes()).unwrap();
            }
        }
    }

    #[test]
    fn two_exchanges_have_two_nonces() {
        let first = || ClientFirst::new(Mechanism::Plain).unwrap().message();
        assert_ne!(first(), first());
        assert_eq!(first().len(), "n,,n=,r=".len() + 24);
    }
}

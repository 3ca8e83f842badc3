//! The ciphers that TLS may use, by OpenSSL's names, as the servers' command lines have them.

use rustls::CipherSuite;
use rustls::crypto::{CryptoProvider, aws_lc_rs};

const NAMES: [(&str, CipherSuite); 9] = [
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("ECDHE-RSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-RSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-RSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

/// The provider with those of these ciphers that rustls has, in this order, or with all of its own where none is named.
/// `None`: it has none of them.
pub(super) fn provider(names: &[String]) -> Option<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    if names.is_empty() {
        return Some(provider);
    }
    let all = std::mem::take(&mut provider.cipher_suites);
    let of = |wanted: CipherSuite| all.iter().find(|known| known.suite() == wanted).copied();
    provider.cipher_suites = names.iter().filter_map(|name| suite(name)).filter_map(of).collect();
    (!provider.cipher_suites.is_empty()).then_some(provider)
}

fn suite(name: &str) -> Option<CipherSuite> {
    let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    known.map(|(_, suite)| *suite)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites(names: &[&str]) -> Option<Vec<CipherSuite>> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Some(provider(&names)?.cipher_suites.iter().map(|suite| suite.suite()).collect())
    }

    #[test]
    fn every_name_is_a_cipher_that_there_is() {
        for (name, suite) in NAMES {
            assert_eq!(suites(&[name]), Some(vec![suite]));
        }
    }

    #[test]
    fn they_stay_in_the_order_in_which_they_are_named() {
        let named = ["ecdhe-rsa-aes128-gcm-sha256", "AES256-SHA", "TLS_AES_128_GCM_SHA256"];
        let expected = [
            CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            CipherSuite::TLS13_AES_128_GCM_SHA256,
        ];
        assert_eq!(suites(&named), Some(expected.to_vec()));
        assert!(suites(&[]).is_some_and(|all| all.len() >= NAMES.len()));
    }

    #[test]
    fn those_without_forward_secrecy_are_left_to_openssl() {
        assert_eq!(suites(&["AES256-SHA"]), None);
    }
}

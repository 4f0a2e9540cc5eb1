"""Credentials that are known by their look, or by what introduces them: tables, one row a kind.

To add a kind, add a row and its cases.

Invariants
- Expressions are those that RE2 and `re` read alike: no look-around, no back-references.
- A row whose `rest` is more than one repeated class is `whole`: RE2 then finds all of it in one
  pass, where `re` could read the same run again and again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.redaction.checks import (
    ends_with_user,
    ends_with_user_of_mail,
    has_digit,
    is_basic_credential,
    is_card,
    is_mixed,
    is_no_reference,
    is_not_publishable,
    looks_chosen,
    looks_issued,
    looks_random,
)
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable


LONGEST_BEFORE = 64
"""Bytes."""


@frozen
class Kind:
    """One kind of credential."""

    name: str
    """The NAME in `[REDACTED:NAME]`."""
    start: bytes
    """How the secret begins: what is looked for."""
    rest: bytes = b""
    """How it goes on."""
    before: bytes = b""
    """What introduces it and stays readable."""
    after: bytes = b""
    """What must follow, and stays readable."""
    check: Callable[[bytes], bool] | None = None
    """A second look at the secret."""
    check_before: Callable[[bytes], bool] | None = None
    """A second look at what stands before the secret, as far as `LONGEST_BEFORE`."""
    is_word: bool = False
    """Whether it goes on to the end of the quotes around it, if there are any."""
    whole: bool = False
    """Whether to look for all of it, not only for how it begins."""

    def looked_for(self) -> bytes:
        """Give the expression for RE2."""
        return self.before + self.start + (self.rest + self.after if self.whole else b"")

    def read(self) -> bytes:
        """Give the expression for `re`; its one group is the secret, or empty when all of it is."""
        if self.before or self.after:
            return self.before + b"(" + self.start + self.rest + b")" + self.after
        return (
            self.start.removeprefix(rb"\b") + self.rest + b"()"
        )  # begins with a byte: `re` skips it quickly


_BREAK = rb"(?:[ .+\t-]{1,2}|\xc2\xa0|\xe2\x80[\x80-\x95\xaf]|\xe2\x88\x92)"
"""What may stand between the groups of a card number, as UTF-8: blanks, dots, dashes of all kinds."""
_USER = rb"""[^\s/?#@:"'<>\\`]"""

TOKENS = (
    # Code hosts and registries
    Kind("github-token", rb"gh[pousr]_", rb"[A-Za-z0-9]{16,}"),
    Kind("github-token", rb"github_pat_", rb"[A-Za-z0-9_]{20,}"),
    Kind("gitlab-token", rb"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt|ffct|wt)-", rb"[A-Za-z0-9_.-]{16,}"),
    Kind("gitlab-token", rb"\bGR1348941", rb"[A-Za-z0-9_-]{20,}"),
    Kind("atlassian-token", rb"AT[ACS]TT3", rb"[A-Za-z0-9_=-]{20,}"),
    Kind("bitbucket-token", rb"\bATBB", rb"[A-Za-z0-9]{24,}"),
    Kind("npm-token", rb"npm_", rb"[A-Za-z0-9]{30,}"),
    Kind("pypi-token", rb"pypi-", rb"[A-Za-z0-9_-]{32,}"),
    Kind("rubygems-token", rb"rubygems_", rb"[0-9a-f]{32,}"),
    Kind("docker-token", rb"dckr_[po]at_", rb"[A-Za-z0-9_-]{20,}"),
    Kind("nuget-key", rb"\boy2", rb"[a-z0-9]{43}"),
    Kind("clojars-token", rb"CLOJARS_", rb"[0-9a-z]{40,}"),
    Kind("cratesio-token", rb"\bcio[A-Za-z0-9]{4}", rb"[A-Za-z0-9]{28}\b", check=looks_random),
    Kind("artifactory-key", rb"\b(?:AKCp[A-Za-z0-9]|cmVmdGtu)", rb"[A-Za-z0-9]{50,}", check=has_digit),
    Kind("sonar-token", rb"\bsq[apu]_", rb"[0-9a-f]{40}"),
    Kind("packagist-token", rb"packagist_[a-z]{3}_", rb"[0-9a-f]{40,}"),
    Kind("deno-token", rb"\bdd[op]_", rb"[A-Za-z0-9]{36}"),
    Kind("jsr-token", rb"\bjsrp_", rb"[A-Za-z0-9_-]{24,}"),
    Kind("sourcegraph-token", rb"\bsgp_", rb"[A-Za-z0-9_]{40,}"),
    Kind("adafruit-key", rb"\baio_", rb"[A-Za-z0-9]{28}\b", check=looks_random),
    Kind("trello-token", rb"\bATTA", rb"[0-9a-f]{64}"),
    # Clouds
    Kind("aws-key", rb"A(?:KIA|SIA|BIA|CCA)", rb"""[A-Z0-9]{16}(?:[\s,:;|"'=]{1,4}[A-Za-z0-9/+]{40}\b)?"""),
    Kind("aws-bedrock-key", rb"\b(?:ABSK|bedrock-api-key-)", rb"[A-Za-z0-9+/=]{40,}"),
    Kind("aws-session-token", rb"\b(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)", rb"[A-Za-z0-9+/=%]{60,}"),
    Kind("google-key", rb"AIza", rb"[A-Za-z0-9_-]{30,}"),
    Kind("google-oauth-secret", rb"(?:GOCSPX-|ya29\.)", rb"[A-Za-z0-9_.-]{20,}"),
    Kind("google-oauth-secret", rb"\b1//0", rb"[A-Za-z0-9_-]{20,}"),
    Kind("azure-client-secret", rb"8Q~", rb"[A-Za-z0-9_~.-]{28,}"),
    # From a boundary on: counting from every byte of a long run would cost a hundred times as much.
    Kind("azure-devops-token", rb"\b[A-Za-z0-9]{76}AZDO", rb"[A-Za-z0-9]{4}", whole=True),
    Kind("azure-key", rb"\b[A-Za-z0-9]{42}A(?:zSe|zFu|zCa)", rb"[A-Za-z0-9]{6}", whole=True),
    Kind("azure-key", rb"\b[A-Za-z0-9]{52}JQQJ9", rb"[A-Za-z0-9]{20,}", whole=True),
    Kind(
        "azure-key",
        rb"(?:[A-Za-z0-9+/]{33}|[A-Za-z0-9+/]{42}|[A-Za-z0-9+/]{76})\+A(?:St|Sb|Eh|Rm|CDb|IoT|CR)",
        rb"[A-Za-z0-9+/]{4,8}=?",
        before=rb"(?:^|[^A-Za-z0-9+/])",
        whole=True,
    ),
    Kind("cloudflare-key", rb"\bv1\.0-[0-9a-f]{24}-", rb"[0-9a-f]{100,}"),
    Kind("cloudflare-key", rb"\bcf(?:[ua]t|k)_", rb"[A-Za-z0-9_-]{40,}"),
    Kind("yandex-key", rb"\b(?:AQVN|t1\.[A-Z0-9a-z_-]{20,}\.)", rb"[A-Za-z0-9_-]{35,}", check=has_digit),
    Kind("openshift-token", rb"\bsha256~", rb"[A-Za-z0-9_-]{43}"),
    Kind("scaleway-key", rb"\btk-[a-z]{2}-", rb"[A-Za-z0-9_-]{48}"),
    Kind("scaleway-key", rb"\bSCW[A-Z0-9]{4}", rb"[A-Z0-9]{13}\b", check=has_digit),
    Kind("exoscale-key", rb"\bEXO[0-9a-f]{6}", rb"[0-9a-f]{18}\b"),
    Kind("yandex-token", rb"\by[0-3]_", rb"[A-Za-z0-9_-]{50,}", check=has_digit),
    Kind("digitalocean-token", rb"do[opr]_v1_", rb"[0-9a-f]{40,}"),
    Kind("alibaba-key", rb"\bLTAI", rb"[A-Za-z0-9]{16,}", check=has_digit),
    Kind("alibaba-key", rb"\bSTS\.", rb"[A-Za-z0-9]{20,}", check=has_digit),
    Kind("tencent-key", rb"\bAKID", rb"[A-Za-z0-9]{28,}", check=has_digit),
    Kind("heroku-key", rb"HRKU-", rb"[A-Za-z0-9_-]{30,}"),
    Kind("fly-token", rb"\bf(?:o1|m[12][ar]?)_", rb"[A-Za-z0-9+/=_-]{30,}"),
    Kind("netlify-token", rb"\bnf[pu]_", rb"[A-Za-z0-9]{30,}"),
    Kind("vercel-token", rb"\bvc[pkiar]_", rb"[A-Za-z0-9]{24,}", check=has_digit),
    Kind("vercel-token", rb"vercel_blob_rw_", rb"[A-Za-z0-9_]{24,}"),
    Kind("render-key", rb"\brnd_", rb"[A-Za-z0-9]{24,}", check=has_digit),
    Kind("neon-key", rb"\bnapi_", rb"[A-Za-z0-9]{40,}"),
    Kind("mongodb-secret", rb"mdb_sa_sk_", rb"[A-Za-z0-9_-]{30,}"),
    Kind("firebase-key", rb"\bAAAA[A-Za-z0-9_-]{7}:", rb"[A-Za-z0-9_-]{100,}"),
    # Models
    Kind("anthropic-key", rb"sk-ant-", rb"[A-Za-z0-9_-]{16,}"),
    Kind("openai-key", rb"\bsk-(?:proj|svcacct|admin)-", rb"[A-Za-z0-9_-]{16,}", check=has_digit),
    Kind("api-key", rb"\bsk-", rb"[A-Za-z0-9_-]{20,}", check=has_digit),
    Kind("openai-session", rb"\bsess-", rb"[A-Za-z0-9]{40}\b", check=looks_random),
    Kind("huggingface-token", rb"\b(?:hf|api_org)_", rb"[A-Za-z0-9]{24,}"),
    Kind("groq-key", rb"\bgsk_", rb"[A-Za-z0-9]{32,}"),
    Kind("xai-key", rb"\bxai-", rb"[A-Za-z0-9]{32,}"),
    Kind("perplexity-key", rb"pplx-", rb"[A-Za-z0-9]{32,}"),
    Kind("replicate-token", rb"\br8_", rb"[A-Za-z0-9_-]{30,}"),
    Kind("google-key", rb"\bAQ\.Ab[A-Za-z0-9]", rb"[A-Za-z0-9_-]{40,}", check=has_digit),
    Kind("cerebras-key", rb"\bcsk-", rb"[a-z0-9]{40,}"),
    Kind("fireworks-key", rb"\bfw_", rb"[A-Za-z0-9]{20,}", check=looks_random),
    Kind("firecrawl-key", rb"\bfc-[0-9a-f]{6}", rb"[0-9a-f]{26}\b"),
    Kind("e2b-key", rb"\be2b_", rb"[0-9a-f]{40}"),
    Kind("jina-key", rb"\bjina_", rb"[A-Za-z0-9_-]{40,}"),
    Kind("brave-key", rb"\bBSA[A-Za-z0-9]", rb"[A-Za-z0-9_-]{24,28}", check=looks_random),
    Kind("together-key", rb"\btgp_v[0-9]_", rb"[A-Za-z0-9_-]{40,}"),
    Kind("voyage-key", rb"\bpa-[A-Za-z0-9_-]{6}", rb"[A-Za-z0-9_-]{34,}", check=looks_random),
    Kind("composio-key", rb"\bak_", rb"[A-Za-z0-9_-]{20,}", check=looks_random),
    Kind("llamaindex-key", rb"\bllx-", rb"[A-Za-z0-9]{40,}"),
    Kind("llama-key", rb"\bLLM\|[0-9]{10,20}\|", rb"[A-Za-z0-9_-]{20,}", whole=True),
    Kind("mem0-key", rb"\bm0-", rb"[A-Za-z0-9]{36,}", check=has_digit),
    Kind("browserbase-key", rb"\bbb_(?:live|test)_", rb"[A-Za-z0-9_-]{20,}"),
    Kind("langsmith-key", rb"lsv2_(?:pt|sk)_", rb"[A-Za-z0-9_]{30,}"),
    Kind("pinecone-key", rb"pcsk_", rb"[A-Za-z0-9_]{30,}"),
    Kind("tavily-key", rb"\btvly-", rb"[A-Za-z0-9_-]{20,}", check=has_digit),
    Kind("nvidia-key", rb"\bnvapi-", rb"[A-Za-z0-9_-]{40,}"),
    Kind("context7-key", rb"\bctx7sk-", rb"[A-Za-z0-9-]{30,}"),
    Kind("cursor-key", rb"\b(?:key|crsr)_[0-9a-f]{8}", rb"[0-9a-f]{56}\b"),
    # Payment
    Kind("stripe-key", rb"[sr]k_(?:org_)?(?:live|test)_", rb"[A-Za-z0-9]{10,}"),
    Kind("easypost-key", rb"\bEZ[AT]K", rb"[A-Za-z0-9]{54}"),
    Kind("flutterwave-key", rb"FLWSECK(?:_TEST)?-", rb"[0-9A-Za-z]{12,}(?:-X)?"),
    Kind("lob-key", rb"\b(?:live|test)_[0-9a-f]{6}", rb"[0-9a-f]{29}\b"),
    Kind("shippo-token", rb"shippo_(?:live|test)_", rb"[0-9a-f]{40}"),
    Kind("webhook-secret", rb"\bwhsec_", rb"[A-Za-z0-9+/=]{20,}"),
    Kind("square-token", rb"sq0[a-z]{3}-", rb"[A-Za-z0-9_-]{20,}"),
    Kind("square-token", rb"\bEAAA", rb"[A-Za-z0-9_-]{56,}"),
    Kind("duffel-token", rb"\bduffel_(?:live|test)_", rb"[A-Za-z0-9_=-]{40,}"),
    Kind("plaid-token", rb"\baccess-(?:production|development|sandbox)-", rb"[0-9a-f-]{36}"),
    Kind("razorpay-key", rb"\brzp_(?:live|test)_", rb"[A-Za-z0-9]{14,}"),
    Kind("adyen-key", rb"\bAQE[a-z]hm", rb"[A-Za-z0-9+/=_-]{40,}"),
    Kind("mollie-key", rb"\b(?:live|test)_[A-Za-z0-9]{6}", rb"[A-Za-z0-9]{24,}\b", check=looks_random),
    Kind(
        "wallet-key",
        rb"\b[5KL][1-9A-HJ-NP-Za-km-z]{6}",
        rb"[1-9A-HJ-NP-Za-km-z]{44,45}\b",
        check=looks_random,
    ),
    Kind("wallet-key", rb"\b[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{6}", rb"[1-9A-HJ-NP-Za-km-z]{100,}"),
    Kind("nostr-key", rb"\bnsec1", rb"[a-z0-9]{58}"),
    Kind("paypal-token", rb"access_token\$(?:production|sandbox)\$", rb"[A-Za-z0-9$]{20,}"),
    Kind(
        "card-number",
        rb"[2-6][0-9]{3}" + _BREAK + rb"?[0-9]{4}",
        rb"(?:" + _BREAK + rb"?[0-9]{4}" + _BREAK + rb"?[0-9]{1,7}|[0-9]{2}" + _BREAK + rb"[0-9]{4,5})\b",
        before=rb"(?:^|[^0-9A-Za-z.])",
        check=is_card,
    ),
    # Messages and mail
    Kind("slack-token", rb"xoxd-", rb"[A-Za-z0-9%+/=_-]{10,}", check=has_digit),
    Kind("slack-token", rb"(?:xox[a-z]-|xoxe\.xox[a-z]-|xapp-)", rb"[A-Za-z0-9-]{10,}", check=has_digit),
    Kind(
        "discord-token",
        rb"\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25}",
        rb"[A-Za-z0-9_-]*",
        check=looks_random,
    ),
    Kind("discord-token", rb"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25}", rb"[A-Za-z0-9_-]*", check=looks_random),
    Kind("telegram-token", rb"\b[0-9]{8,10}:AA", rb"[A-Za-z0-9_-]{30,}"),
    Kind("telegram-token", rb":AA", rb"[A-Za-z0-9_-]{30,}", before=rb"[0-9]{7}"),
    Kind("sendgrid-key", rb"\bSG\.[A-Za-z0-9_-]{16,24}\.", rb"[A-Za-z0-9_-]{16,}"),
    Kind("twilio-key", rb"\bSK[0-9a-f]{6}", rb"[0-9a-f]{26}\b"),
    Kind("mailgun-key", rb"\bkey-[0-9a-f]{6}", rb"[0-9a-f]{26}\b"),
    Kind("mailgun-key", rb"\b[0-9a-f]{32}-[0-9a-f]{8}-", rb"[0-9a-f]{8}\b", whole=True),
    Kind("mailchimp-key", rb"\b[0-9a-f]{32}-us", rb"[0-9]{1,2}\b", whole=True),
    Kind("mailersend-key", rb"\bmlsn\.", rb"[0-9a-f]{40,}"),
    Kind("brevo-key", rb"x(?:key|smtp)sib-", rb"[A-Za-z0-9_-]{30,}"),
    Kind("discord-token", rb"\bmfa\.", rb"[A-Za-z0-9_-]{60,}"),
    Kind("fastmail-token", rb"\bfmu[0-9]-", rb"[A-Za-z0-9]{6,}-[0-9a-f-]{40,}"),
    Kind("resend-key", rb"\bre_[A-Za-z0-9]{6,10}_", rb"[A-Za-z0-9]{20,}", check=has_digit),
    # Shops, documents, work
    Kind("shopify-token", rb"shp(?:at|ca|pa|ss|ua|tka)_", rb"[0-9A-Fa-f]{24,}"),
    Kind("notion-token", rb"\b(?:secret|ntn)_", rb"[A-Za-z0-9]{36,}", check=has_digit),
    Kind("linear-key", rb"lin_(?:api|oauth)_", rb"[A-Za-z0-9]{24,}"),
    Kind("figma-token", rb"\bfig[dour]_", rb"[A-Za-z0-9_-]{24,}"),
    Kind("airtable-token", rb"\bpat[A-Za-z0-9]{14}\.", rb"[0-9a-f]{40,}"),
    Kind("hubspot-token", rb"\bpat-(?:na|eu|ap)[0-9]-", rb"[0-9a-f-]{32,}"),
    Kind("harness-token", rb"\b[ps]at\.[A-Za-z0-9_-]{20,24}\.", rb"[0-9a-f]{24}\.[A-Za-z0-9]{16,}"),
    Kind("asana-token", rb"\b[012]/[0-9/]{10,40}:", rb"[0-9a-f]{32}\b"),
    Kind("dropbox-token", rb"\bsl\.(?:u\.)?", rb"[A-Za-z0-9_-]{60,}"),
    Kind("contentful-token", rb"CFPAT-", rb"[A-Za-z0-9_-]{30,}"),
    Kind("frameio-token", rb"\bfio-u-", rb"[A-Za-z0-9_=-]{40,}"),
    Kind("readme-key", rb"\brdme_", rb"[A-Za-z0-9]{50,}"),
    Kind("mapbox-token", rb"\bsk\.eyJ", rb"[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    Kind("typeform-token", rb"\btfp_", rb"[A-Za-z0-9_.-]{40,}"),
    Kind("facebook-token", rb"\bEAA[A-Z]", rb"[A-Za-z0-9]{100,}"),
    Kind("instagram-token", rb"\bIG(?:QV|QW|AA)", rb"[A-Za-z0-9_-]{100,}"),
    Kind(
        "twitter-token",
        rb"\bA{20}[A-Za-z0-9]{4,40}(?:%(?:2[BF]|3D)|[=+/])",
        rb"[A-Za-z0-9%]{30,}",
    ),
    Kind("salesforce-session", rb"\b00D[A-Za-z0-9]{12}(?:[A-Za-z0-9]{3})?!", rb"[A-Za-z0-9._]{60,}"),
    Kind("trello-token", rb"\bATTA[0-9a-f]{6}", rb"[0-9a-f]{50,}"),
    Kind("clickup-token", rb"\bpk_[0-9]{5,10}_", rb"[A-Z0-9]{32}"),
    Kind("intercom-token", rb"\bdG9rO", rb"[A-Za-z0-9+/=]{30,}"),
    Kind("sanity-token", rb"\bsk[A-Za-z0-9]{16}", rb"[A-Za-z0-9]{100,}", check=looks_random),
    Kind("lichess-token", rb"\bli[po]_", rb"[A-Za-z0-9]{16,}", check=has_digit),
    Kind("okta-token", rb"\b00[A-Za-z0-9_-]{8}", rb"[A-Za-z0-9_-]{32}\b", check=looks_random),
    Kind("dub-key", rb"\bdub_", rb"[A-Za-z0-9]{24,}", check=looks_random),
    Kind("nylas-key", rb"\bnyk_v[0-9]_", rb"[A-Za-z0-9]{40,}"),
    # Data and operation
    Kind("databricks-token", rb"\bd(?:api|ose)[0-9a-f]{6}", rb"[0-9a-f]{26}(?:-[0-9])?\b"),
    Kind("vault-token", rb"\bhv[sbr]\.", rb"[A-Za-z0-9_-]{20,}"),
    Kind("doppler-token", rb"\bdp\.(?:pt|st|ct|sa|scim|audit)\.", rb"[A-Za-z0-9._-]{36,}"),
    Kind("terraform-token", rb"\b[A-Za-z0-9]{14}\.atlasv1\.", rb"[A-Za-z0-9_=-]{40,}"),
    Kind("terraform-token", rb"\.atlasv1\.", rb"[A-Za-z0-9_=-]{40,}"),
    Kind("vault-token", rb"\bs\.[A-Za-z0-9]{6}", rb"[A-Za-z0-9]{18}\b", check=looks_random),
    Kind("infisical-token", rb"\bst\.[0-9a-f]{24}\.", rb"[0-9a-f]{32}\.[0-9a-f]{32}"),
    Kind("bitwarden-token", rb"\b0\.[0-9a-f]{8}-[0-9a-f-]{27}\.", rb"[A-Za-z0-9]{20,}:[A-Za-z0-9+/=]{16,}"),
    Kind(
        "onepassword-key",
        rb"\bA3-[A-Z0-9]{6}-",
        rb"[A-Z0-9]{5,6}-?[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
    ),
    Kind("pulumi-token", rb"\bpul-", rb"[0-9a-f]{40}"),
    Kind("planetscale-token", rb"pscale_(?:tkn|pw|oauth)_", rb"[A-Za-z0-9_.=-]{24,}"),
    Kind("supabase-key", rb"\bsb(?:p|_secret)_", rb"[A-Za-z0-9_-]{20,}", check=has_digit),
    Kind("grafana-token", rb"\bgl(?:sa|c)_", rb"[A-Za-z0-9+/=_]{30,}"),
    Kind("datadog-key", rb"\bdd(?:app|pat)_", rb"[A-Za-z0-9_]{30,}"),
    Kind("newrelic-key", rb"\bNR(?:AK|II|AA|JS|RA)-", rb"[A-Za-z0-9_-]{19,}"),
    Kind("newrelic-key", rb"\b[0-9a-f]{36}", rb"NRAL\b", whole=True),
    Kind("grafana-token", rb"\beyJrIjoi", rb"[A-Za-z0-9+/=_-]{40,}"),
    Kind("honeycomb-key", rb"\bhc[a-z]{3}_", rb"[a-z0-9]{40,}"),
    Kind("posthog-key", rb"\bph[xsr]_", rb"[A-Za-z0-9]{32,}"),
    Kind("logfire-token", rb"\bpylf_v[0-9]_", rb"[A-Za-z0-9_]{32,}"),
    Kind("axiom-token", rb"\bxa[ap]t-", rb"[0-9a-f-]{36}"),
    Kind("pagerduty-key", rb"\bu\+[A-Za-z0-9_-]{6}", rb"[A-Za-z0-9_-]{12}\b", check=looks_random),
    Kind("trigger-key", rb"\btr_(?:dev|prod|stg|preview|pat)_", rb"[A-Za-z0-9]{20,}", check=has_digit),
    Kind("inngest-key", rb"\bsignkey-[a-z]{2,10}-", rb"[0-9a-f]{32,}"),
    Kind("dbt-token", rb"\bdbt[cu]_", rb"[A-Za-z0-9_-]{32,}", check=has_digit),
    Kind("confluent-key", rb"\bcflt[A-Za-z0-9+/_-]{6}", rb"[A-Za-z0-9+/_-]{40,}", check=looks_random),
    Kind("maxmind-key", rb"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}", rb"_mmk\b", whole=True),
    Kind("stytch-secret", rb"\bsecret-(?:live|test)-", rb"[A-Za-z0-9_=-]{30,}"),
    Kind("settlemint-token", rb"\bsm_[aps]at_", rb"[A-Za-z0-9]{16,}"),
    Kind("imagekit-key", rb"\bprivate_", rb"[A-Za-z0-9+/]{20,}=*", check=looks_random),
    Kind("defined-key", rb"\bdnkey-", rb"[A-Za-z0-9=_-]{40,}"),
    Kind("sentry-token", rb"sntry[su]_", rb"[A-Za-z0-9_=+/-]{40,}"),
    Kind("postman-key", rb"PMAK-", rb"[0-9a-f-]{40,}"),
    Kind("buildkite-token", rb"\bbk(?:ua|aj)_", rb"[0-9A-Za-z]{32,}"),
    Kind("circleci-token", rb"CCI(?:PAT|PRJ)_", rb"[A-Za-z0-9_]{24,}"),
    Kind("dynatrace-token", rb"\bdt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.", rb"[A-Z0-9]{40,}"),
    Kind("infracost-key", rb"\bico-", rb"[A-Za-z0-9]{32}\b", check=has_digit),
    Kind("intra42-secret", rb"\bs-s4t2(?:ud|af)-", rb"[0-9a-f]{40,}"),
    Kind(
        "launchdarkly-key",
        rb"\b(?:api|sdk)-[0-9a-f]{8}-[0-9a-f]{4}-",
        rb"[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Kind("prefect-key", rb"\bpn[ub]_", rb"[A-Za-z0-9]{32,}"),
    Kind("onepassword-token", rb"\bops_eyJ", rb"[A-Za-z0-9_=-]{40,}"),
    Kind("tailscale-key", rb"tskey-[a-z]{1,10}-", rb"[A-Za-z0-9_-]{16,}"),
    Kind("age-key", rb"AGE-SECRET-KEY-(?:PQ-)?1", rb"[A-Z0-9]{20,}"),
    Kind("password-hash", rb"\$2[abxy]?\$[0-9]{2}\$", rb"[./A-Za-z0-9]{40,}"),
    Kind("password-hash", rb"\$(?:1|5|6|y|7|apr1|argon2id?|argon2d)\$", rb"[./A-Za-z0-9$,=+]{20,}"),
    Kind("password-hash", rb"\bpbkdf2_sha[0-9]{1,3}\$[0-9]+\$", rb"[A-Za-z0-9+/=$]{30,}"),
    Kind("password-hash", rb"\b(?:scrypt|pbkdf2)(?::[a-z0-9]+)+\$[A-Za-z0-9]+\$", rb"[0-9a-f]{40,}"),
    Kind("password-hash", rb"\bSCRAM-SHA-[0-9]{1,3}\$[0-9]+:", rb"[A-Za-z0-9+/=$:]{40,}"),
    Kind(
        "password-hash",
        rb"\{(?:S?SHA(?:224|256|384|512)?|S?MD5|CRYPT|PBKDF2[A-Z0-9-]*)\}",
        rb"[A-Za-z0-9+/=$.]{16,}",
    ),
    # Forms rather than services
    Kind("session-cookie", rb"\bs(?::|%3A)[A-Za-z0-9_-]{32}\.", rb"[A-Za-z0-9+/%_-]{24,}"),
    Kind("paseto", rb"\bv[1-4]\.(?:local|public)\.", rb"[A-Za-z0-9_.-]{32,}"),
    Kind("paseto-key", rb"\bk[1-4]\.(?:local|secret|seal)(?:-pw|-wrap)?\.", rb"[A-Za-z0-9_.-]{32,}"),
    Kind(
        "private-key",
        rb"\bM(?:I[IGC][A-Za-z0-9+/]{2,5}IBA(?:AK[BC]|DANBgkqhkiG9w0BAQEFAAS)|HcCAQEEI|C4CAQAwBQYDK2Vw"
        rb"|IG[A-Za-z0-9+/]{1,4}AgEAMB[A-Z]GByqGSM49)",
        rb"[A-Za-z0-9+/=]{30,}",
    ),
    Kind("private-key", rb"\bRWRTY0Iy", rb"[A-Za-z0-9+/=]{100,}"),
    Kind("private-key", rb"b3BlbnNzaC1rZXktdjE", rb"[A-Za-z0-9+/=]{40,}"),
    Kind(
        "jwt",
        rb"eyJ[A-Za-z0-9_-]{8,}\.(?:[A-Za-z0-9_-]{8}|\.[A-Za-z0-9_-]{8})",
        rb"[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*){0,3}",
        whole=True,
    ),
    Kind(
        "url-user",
        _USER + rb"+",
        before=rb"://",
        after=rb"""(?::[^\s/?#@"'<>`]*)?@""",
        check=looks_random,
        whole=True,
    ),
)
"""Those that stand by themselves."""

INTRODUCED = (
    Kind("slack-webhook", rb"[A-Za-z]", rb"[A-Za-z0-9_/+-]{12,}", before=rb"hooks\.slack\.com/[a-z]{8,9}/"),
    Kind("discord-webhook", rb"[0-9]", rb"[A-Za-z0-9_/-]{24,}", before=rb"/api/(?:v[0-9]+/)?webhooks/"),
    Kind("teams-webhook", rb"[A-Za-z0-9]", rb"[A-Za-z0-9@/_%-]{16,}", before=rb"\.office\.com/webhookb2/"),
    Kind(
        "bearer",
        rb"[A-Za-z0-9._~+/-]",
        rb"[A-Za-z0-9._~+/=-]{7,}",
        before=rb"(?i:\bbearer[ \t+]+)",
        check=has_digit,
    ),
    Kind(
        "basic-auth",
        rb"[A-Za-z0-9+/_-]{6}",
        rb"[A-Za-z0-9+/_=-]*",
        before=rb"(?i:\bbasic[ \t+]+)",
        check=is_basic_credential,
    ),
    Kind(
        "url-password",
        rb"""[^\s/?#"'<>`]+""",
        before=rb"://" + _USER + rb"*:",
        after=rb"@",
        check=is_no_reference,
        whole=True,
    ),
    Kind(
        "url-password",
        rb"""[^\s/?#"'<>`0-9][^\s"'<>`]*""",
        before=rb"://" + _USER + rb"+:",
        after=rb"@",
        check=is_no_reference,
        whole=True,
    ),
    Kind(
        "pgpass",
        rb"""[^\s:"']+""",
        before=rb"[A-Za-z0-9_.*-]+:(?:543[0-9]|6432|\*):[A-Za-z0-9_.*-]+:[A-Za-z0-9_.*@-]+:",
        whole=True,
    ),
    Kind(
        "password",
        rb"""[!-&(-+./-~-]{5,}""",
        before="(?:密码|密碼|口令|パスワード|暗証番号|비밀번호)(?:是|は|为|為|은|는)[ :]*".encode(),
        check=looks_chosen,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^\s"'`,;/]{5,}""",
        before=rb"(?i:\b(?:logins?|creds?|credentials?|account|user(?:name)? ?/ ?pass(?:word)?):?[ \t]+)"
        rb"[^\s/:]{1,40}[ \t]/[ \t]",
        check=looks_chosen,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^"'<>\s]{5,}""",
        before=rb"""\b(?:value|content)=["']""",
        after=rb"""["']\s+(?:[a-z-]{1,12}=["'][^"'<>]*["']\s+)?(?:type|name|key|id)=["'][^"'<>]*(?i:passw(?:or)?d|secret|token|api_?key)""",
        check=looks_chosen,
        whole=True,
    ),
    Kind(  # a row of names and values
        "password",
        rb"""[^\s"',;]{5,}""",
        before=rb"""(?:^|\n)["']?[\w.-]*(?i:passw(?:or)?d|pwd|secret|token|api_?key)["']?[,;\t][ "']*""",
        after=rb"""["']?[ \t\f]*(?:\r?\n|["\f}\]]*$)""",
        check=looks_chosen,
        whole=True,
    ),
    Kind(
        "license-key",
        rb"[A-Z0-9]{5}(?:-[A-Z0-9]{5}){2,4}\b",
        before=rb"""(?i:\b(?:product|activation|serial|licen[cs]e)[ _-]?(?:key|code|number))["' :=]{1,9}""",
        whole=True,
    ),
    Kind(
        "ssn",
        rb"[0-9]{3}-[0-9]{2}-[0-9]{4}\b",
        before=rb"(?i:\bsocial[ _-]security(?:[ _-]number)?[ :=#]{1,3})",
        whole=True,
    ),
    Kind("ifttt-key", rb"[A-Za-z0-9_-]{16,}", before=rb"maker\.ifttt\.com/[^\s?#]{1,80}/key/", whole=True),
    Kind("private-key", rb"[A-Za-z0-9+/]{40,}=*", before=rb"<(?:D|P|Q|DP|DQ|InverseQ)>", whole=True),
    Kind("wifi-password", rb"[^;\s]+", before=rb"\bWIFI:(?:[A-OQ-Z]:[^;\n]*;)*P:", whole=True),
    Kind(
        "password",
        rb"""[^"'\n$]+""",
        before=rb"""(?i:\bvariable\s+"[^"\n]*(?:password|secret|token|api_key)[^"\n]*"\s*\{[^{}]*?\bdefault\s*=\s*")""",
        whole=True,
    ),
    Kind("dsn-password", rb"[^\s@/:]+", before=rb":", after=rb"@(?:tcp|unix)\(", whole=True),
    Kind(
        "dsn-password",
        rb"""[^\s@/:"'\\]+""",
        before=rb"[A-Za-z0-9_]:",
        after=rb"@/[A-Za-z]",
        check=looks_chosen,
        whole=True,
    ),
    Kind("psk", rb"""[^"\n\\]+""", before=rb"""\b(?:PSK|EAP|XAUTH)\s+\\*\"""", whole=True),
    Kind(
        "password",
        rb"""[^\s"'\\]+""",
        before=rb"\[[A-Za-z0-9.-]+(?:\.[A-Za-z]+\]|\]:[0-9]+)\s+[^\s:]+:",
        check=looks_chosen,
        whole=True,
    ),
    Kind(
        "url-password",
        rb"""[^\s/:@"'\\]+""",
        before=rb"""(?i:proxy)["'\s:=\\]+[A-Za-z0-9._-]+:""",
        after=rb"@",
        whole=True,
    ),
    Kind("dsn-password", rb"[^\s@/]+", before=rb"jdbc:oracle:[a-z]+:[^\s@/:]+/", after=rb"@", whole=True),
    Kind(
        "oauth-code",
        rb"[A-Za-z0-9._~%/+-]",
        rb"[A-Za-z0-9._~%/+-]{15,}",
        before=rb"[?&]code=",
        check=is_mixed,
    ),
)
"""Those that what stands before them gives away. Another kind may stand there, as a token before the password
of a URL: so each of these tables is looked for apart."""

_NAMING = rb"\b[A-Za-z0-9_-]*"
_BARE_PASSWORD = rb"""[^\s/:"'<>`\\(),;{}|\[\]\x01]+"""
_PORT = rb":[0-9]{2,5}\b"
_ADDRESS = rb"(?:[0-9]{1,3}\.){3}[0-9]{1,3}\b"
MARKED = (
    # `bob:secret@host` without a scheme. A port, an address or a common user tell it from `cc:bob1@mail`.
    Kind(
        "url-password",
        _BARE_PASSWORD,
        before=rb"[A-Za-z0-9_]:",
        after=rb"@(?:[A-Za-z0-9_.-]+" + _PORT + rb"|" + _ADDRESS + rb")",
        check=looks_chosen,
        check_before=ends_with_user,
        whole=True,
    ),
    Kind(
        "url-password",
        _BARE_PASSWORD,
        before=rb"[A-Za-z0-9_]:",
        after=rb"@(?:[A-Za-z0-9_-]+\.)+[A-Za-z]{2,}\b",
        check=looks_chosen,
        check_before=ends_with_user_of_mail,
        whole=True,
    ),
    Kind(
        "url-password",
        _BARE_PASSWORD,
        before=rb"\b(?:root|admin|guest|postgres|mysql|sa|default|elastic|neo4j):",
        after=rb"@(?:[A-Za-z0-9_.-]+" + _PORT + rb"|localhost\b|" + _ADDRESS + rb")",
        whole=True,
    ),
    Kind(
        "api-key",
        _NAMING + rb"(?:sk|[po]at|secret|token|api[_-]?key|_live|_test)[_-][0-9a-f]{32}",
        rb"[A-Za-z0-9_-]*",
        check=is_not_publishable,
    ),
    Kind(
        "api-key",
        _NAMING
        + rb"(?:[sr]k|[po]at|ort|key|secret|token|tok|api|live|prod|dev|test|private|v[0-9])"
        + rb"[_-][A-Za-z0-9]{20}",
        rb"[A-Za-z0-9_-]*=*",
        check=looks_issued,
    ),
)
"""Those of services that no row names: most begin with words for what they are, and go on at random. A table
of its own, as a prefix may stand before a token of another kind."""

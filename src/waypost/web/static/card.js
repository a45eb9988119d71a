import { element, number, plural } from "./api.js";
import { STATUSES } from "./paint.js";

const $ = (id) => document.getElementById(id);
const times = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const regions = new Intl.DisplayNames(["en"], { type: "region" });

export const placeAddress = (feature) => new URL(`/v1/places/${encodeURIComponent(feature.id)}`, location.href).href;

export function showCard(feature, others) {
  const { name, address, operator, status, attributes, external_id, provider_updated_at, country } = feature.properties;
  const known = STATUSES.includes(status) ? status : "unknown";
  $("card-dot").className = `dot ${known}`;
  $("card-status").textContent = known;
  $("card-name").textContent = name || "Unnamed place";
  $("card-address").textContent = addressLine(address ?? {}, country);
  $("card-connectors").replaceChildren(...(attributes?.connectors ?? []).map(connectorRow));
  $("card-facts").replaceChildren(...facts({
    Operator: operator,
    Power: attributes?.power_kw ? `up to ${number(attributes.power_kw)} kW` : "",
    Points: attributes?.points ? number(attributes.points) : "",
    Updated: when(provider_updated_at),
    "External id": external_id,
  }));
  $("card-more").hidden = others < 1;
  $("card-more").textContent = `${plural(others, "more place")} at this spot; click it again for the next.`;
  $("card-json").href = placeAddress(feature);
  $("place-card").hidden = false;
  $("place-card").scrollTop = 0;
}

export function hideCard() {
  $("place-card").hidden = true;
}

function addressLine({ street, town, region, postcode }, country) {
  const place = [postcode, town].filter(Boolean).join(" ");
  return [street, place, region === town ? "" : region, countryName(country)].filter(Boolean).join(", ");
}

function countryName(code) {
  try {
    return code ? regions.of(code) : "";
  } catch {
    return code;
  }
}

function connectorRow({ type, power_kw, count }) {
  const row = element("li");
  row.append(
    element("span", "", type || "Unknown connector"),
    element("span", "", power_kw ? `${number(power_kw)} kW` : ""),
    element("span", "", count ? `× ${number(count)}` : ""),
  );
  return row;
}

function facts(known) {
  return Object.entries(known).filter(([, value]) => value).flatMap(([term, value]) => {
    const detail = element("dd");
    detail.append(value);
    return [element("dt", "", term), detail];
  });
}

function when(text) {
  const time = new Date(text ?? NaN);
  if (Number.isNaN(time.getTime())) return "";
  const shown = element("time", "", times.format(time));
  shown.dateTime = text;
  shown.title = text;
  return shown;
}
